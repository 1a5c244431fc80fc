"""The report page in a real browser: what it computes is what `deepsade predict` prints."""

import base64
import csv
import json

import numpy as np
import pytest

import browser as chromium
import program

LOANS = """
[data]
file = "loans.csv"
targets = ["loan"]
one_hot = "drop-first"
[features.age]
kind = "integer"
[task]
kind = "binary"
[network]
hidden = [8, 4]
[train]
epochs = 20
batch = 4
learning_rate = 0.01
[[rule]]
name = "poor </script><b>"
text = "income < 20 and area == 'rural' => loan == 'no'"
"""


def deepsade(*args):
    return program.run(*args, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def page():
    path = chromium.find()
    if path is None:
        pytest.skip("there is no Chromium (scripts/install-browser installs it for root)")
    opened = chromium.Browser(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    rows = [(i * 37 % 100, ["rural", "urban", "sub<urb>"][i % 3], 20 + i % 50, "yes" if i * 37 % 100 > 45 else "no") for i in range(200)]
    with open(folder / "loans.csv", "w", newline="") as file:
        csv.writer(file).writerows([("income", "area", "age", "loan"), *rows])
    (folder / "loans.toml").write_text(LOANS)
    deepsade("train", folder / "loans.toml", "--out", folder / "run", "--enforce", "weights", "--quiet")
    deepsade("report", folder / "run", "--data", folder / "loans.csv")
    return folder


MONOTONE = """
[data]
file = "risk.csv"
targets = ["risk"]
[features.age]
kind = "integer"
[task]
kind = "regression"
[network]
hidden = [8]
[train]
epochs = 10
[[rule]]
name = "rising <b>"
text = "increasing(risk, {debt, age})"
[[rule]]
name = "fair"
text = "unaffected(risk, sex)"
"""


@pytest.mark.parametrize("enforce", ["auto", "none"])
def test_rules_between_two_inputs_are_drawn_with_their_proof(page, tmp_path, enforce):
    rows = [(i * 37 % 100, 20 + i % 50, "fm"[i % 2], (50 - i * 37 % 100) / 10 + i % 50 / 5 - 3 * (i % 2)) for i in range(200)]
    with open(tmp_path / "risk.csv", "w", newline="") as file:
        csv.writer(file).writerows([("debt", "age", "sex", "risk"), *rows])
    (tmp_path / "risk.toml").write_text(MONOTONE)
    deepsade("train", tmp_path / "risk.toml", "--out", tmp_path / "run", "--quiet", "--enforce", enforce)
    deepsade("report", tmp_path / "run", "--data", tmp_path / "risk.csv")
    page.open(tmp_path / "run" / "report.html")
    captions = [c for c in page.evaluate("[...document.querySelectorAll('figcaption')].map((e) => e.textContent)") if "pairs of values" in c]
    # Data fall with debt and differ by sex: only what is enforced keeps the rules.
    assert [c.split(" against ")[1].split(",")[0] for c in captions] == ["debt", "age", "sex"]
    broken = [int(c.split(" break the rule")[0].split()[-1]) for c in captions]
    text = page.evaluate("document.getElementById('main').textContent")
    if enforce == "auto":
        assert broken == [0, 0, 0] and all("proved:" in c and "not proved" not in c for c in captions)
        assert text.count("by the signs of the weights, exactly") >= 2 and "2 rules hold" in page.evaluate("document.body.textContent")
    else:
        assert broken[0] > 0 and broken[2] > 0 and all("not proved" in c for c in captions)
    assert page.complaints() == []


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    assert "report.html" in deepsade("demo", "--out", folder)
    return folder


def move(page, feature, value, kind="range"):
    """Moves a feature's slider, types into its field or chooses from its menu, as a person would make it happen."""
    field = f"[...document.querySelectorAll('[data-feature]')].find((e) => e.dataset.feature === {json.dumps(feature)})"
    if kind == "range":
        field += ".closest('.feature').querySelector('input[type=range]')"
    event = "change" if kind == "menu" else "input"
    page.evaluate(f"(() => {{ const e = {field}; e.value = {json.dumps(str(value))}; e.dispatchEvent(new Event('{event}')); }})()")


def values(page):
    """What stands in the fields, menus as their text."""
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-feature]')]"
        ".map((e) => [e.dataset.feature, e.tagName === 'SELECT' ? e.selectedOptions[0].text : e.value]))"
    )


def shown(page):
    return page.evaluate("Object.fromEntries([...document.querySelectorAll('[data-output]')].map((e) => [e.dataset.output, e.textContent]))")


def predicted(folder, model, row, *flags):
    with open(folder / "row.csv", "w", newline="") as file:
        csv.writer(file).writerows([row.keys(), row.values()])
    deepsade("predict", model, folder / "row.csv", "--out", folder / "answer.csv", "--quiet", *flags)
    return next(csv.DictReader(open(folder / "answer.csv")))


def agree(shown, answer):
    """Whether the page shows what `predict` prints: words, or float32 numbers, which are printed as they obey the rules in float64."""
    same = lambda a, b: a == b or float(a) == pytest.approx(float(b), rel=3e-7)
    return bool(shown) and all(same(text, answer[name]) for name, text in shown.items())


def rule_states(page):
    return page.evaluate("[...document.querySelectorAll('#rule-states li')].map((e) => e.dataset.state)")


def fell_back(page):
    return not page.evaluate("document.getElementById('step-note').hidden")


def outside(page):
    return int(page.evaluate("document.getElementById('domain-note').dataset.outside"))


def test_moving_a_slider_gives_what_predict_prints(page, wine):
    page.open(wine / "model" / "report.html")
    before = shown(page)
    targets = ["free sulfur dioxide", "total sulfur dioxide"]
    assert list(before) == targets
    for feature, value in [("alcohol", 9.1), ("pH", 3.9), ("density", 0.991), ("alcohol", 14.9)]:
        move(page, feature, value)
        row = values(page)
        assert float(row[feature]) == pytest.approx(value, rel=0.01)
        answer = predicted(wine, wine / "model" / "model.onnx", row)
        # The same sums in the same order: the numbers agree.
        assert agree(shown(page), answer)
        assert rule_states(page) == ["holds"] and outside(page) == 0 and answer["in_domain"] == "true"
    assert shown(page) != before
    assert page.complaints() == []


def test_typed_values_beyond_the_domain_are_flagged(page, wine):
    page.open(wine / "model" / "report.html")
    move(page, "alcohol", 50, "number")
    assert outside(page) == 1
    assert "alcohol" in page.evaluate("document.getElementById('domain-note').textContent")
    answer = predicted(wine, wine / "model" / "model.onnx", values(page))
    assert answer["in_domain"] == "false"
    assert agree(shown(page), answer)
    move(page, "alcohol", "", "number")
    assert shown(page) == {} and rule_states(page) == ["unknown"]
    assert page.complaints() == []


def test_classes_menus_and_conditions(page, loans):
    page.open(loans / "run" / "report.html")
    assert page.evaluate("document.getElementById('proof').className") == "badge good"
    assert page.evaluate("document.querySelectorAll('#rule-states b').length") == 1, "a rule's name is text, not markup"
    for income, area, state in [(5, 0, "holds"), (5, 1, "idle"), (90, 0, "idle"), (19, 0, "holds")]:
        move(page, "income", income)
        move(page, "area", area, "menu")
        row = values(page)
        assert shown(page) == {"loan": predicted(loans, loans / "run" / "model.onnx", row)["loan"]}
        assert rule_states(page) == [state], row
        scores = page.evaluate("[...document.querySelectorAll('[data-score]')].map((e) => Number(e.dataset.score))")
        answer = predicted(loans, loans / "run" / "model.onnx", row, "--scores")
        np.testing.assert_allclose(scores, [float(answer["score('no')"]), float(answer["score('yes')"])], rtol=1e-6)
    page.evaluate("(() => { const e = document.getElementById('rows'); e.value = '7'; e.dispatchEvent(new Event('change')); })()")
    assert values(page) == {"income": str(7 * 37 % 100), "age": "27", "area": "urban"}
    assert page.complaints() == []


def test_a_decoded_label_set(page, tmp_path):
    rows = [(i * 37 % 100, i % 7, int(i * 37 % 100 > 50), int(i % 7 > 3), int(i % 5 == 0)) for i in range(150)]
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([("a", "b", "red", "green", "blue"), *rows])
    (tmp_path / "labels.toml").write_text(
        '[data]\nfile = "labels.csv"\ntargets = ["red", "green", "blue"]\n[task]\nkind = "multilabel"\n[network]\nhidden = [8]\n'
        '[train]\nepochs = 20\nenforce = "decode"\n[[rule]]\nname = "one at least"\ntext = "count(label[0], label[1], label[2]) >= 1"\n'
    )
    deepsade("train", tmp_path / "labels.toml", "--out", tmp_path / "run", "--quiet")
    deepsade("report", tmp_path / "run")
    page.open(tmp_path / "run" / "report.html")
    seen = set()
    for a, b in [(0, 0), (10, 6), (99, 0), (99, 6), (60, 3), (30, 5)]:
        move(page, "a", a)
        move(page, "b", b)
        answer = predicted(tmp_path, tmp_path / "run" / "model.onnx", values(page))
        assert shown(page) == {name: "yes" if answer[name] == "1" else "no" for name in ["red", "green", "blue"]}
        assert rule_states(page) == ["holds"]
        seen.add(tuple(shown(page).values()))
    assert len(seen) > 1
    assert "Proved: 1 rule holds" in page.evaluate("document.getElementById('proof').textContent")
    assert page.complaints() == []


def test_decoded_numbers_are_those_after_the_step(page, tmp_path):
    rows = [(i * 37 % 100 / 10, i % 7, i * 37 % 100 / 5 + 3, 2 * (i % 7)) for i in range(150)]
    with open(tmp_path / "numbers.csv", "w", newline="") as file:
        csv.writer(file).writerows([("a", "b", "u", "v"), *rows])
    (tmp_path / "numbers.toml").write_text(
        '[data]\nfile = "numbers.csv"\ntargets = ["u", "v"]\n[features.b]\nkind = "integer"\n[task]\nkind = "regression"\n'
        '[network]\nhidden = [8]\n[train]\nepochs = 20\nenforce = "decode"\n'
        '[[rule]]\nname = "below"\ntext = "u <= 2 * a + 1"\n[[rule]]\nname = "when"\ntext = "b > 3 => u + v >= 4"\n'
    )
    deepsade("train", tmp_path / "numbers.toml", "--out", tmp_path / "run", "--quiet")
    deepsade("report", tmp_path / "run")
    page.open(tmp_path / "run" / "report.html")
    for a, b in [(0, 0), (1, 6), (9.9, 0), (9.9, 6), (6, 3), (0, 5)]:
        move(page, "a", a)
        move(page, "b", b)
        answer = predicted(tmp_path, tmp_path / "run" / "model.onnx", values(page))
        assert list(shown(page)) == ["u", "v"] and agree(shown(page), answer)
        assert rule_states(page) == ["holds", "holds" if b > 3 else "idle"]
    move(page, "a", "", "number")
    assert shown(page) == {} and rule_states(page) == ["unknown", "unknown"] and not fell_back(page)
    assert page.complaints() == []


def with_data(html, change):
    """The page with what its evaluator reads changed."""
    start = html.index('id="model">') + len('id="model">')
    end = html.index("</script>", start)
    data = json.loads(html[start:end])
    change(data)
    return html[:start] + json.dumps(data).replace("<", "\\u003c") + html[end:]


def always_yes(data):
    """A network that always says yes: its last bias is made large."""
    last = [node for node in data["nodes"] if node["op"] == "dense"][-1]
    last["b"] = base64.b64encode(np.array([-1e3, 1e3], dtype="<f4").tobytes()).decode()


def test_the_output_step_is_part_of_the_page(page, loans, tmp_path):
    deepsade("train", loans / "loans.toml", "--out", tmp_path / "run", "--enforce", "decode", "--quiet")
    deepsade("report", tmp_path / "run")
    html = (tmp_path / "run" / "report.html").read_text()

    def pass_scores_on(data):
        always_yes(data)
        calls = data["step"]["calls"]
        upright = next(call["makes"] for call in calls if call["op"] == "Transpose" and call["reads"] == ["scores"])
        for call in calls:
            call["reads"] = [upright if name == "deepsade.make.candidate" else name for name in call["reads"]]

    (tmp_path / "back.html").write_text(with_data(html, pass_scores_on))
    page.open(tmp_path / "back.html")
    for income, word, state in [(5, "no", "holds"), (90, "yes", "idle"), (19, "no", "holds")]:
        move(page, "income", income)
        move(page, "area", 0, "menu")
        assert shown(page) == {"loan": word} and rule_states(page) == [state] and fell_back(page) == (word == "no")
    # What the page does not know it does not guess.
    (tmp_path / "odd.html").write_text(with_data(html, lambda data: data["step"]["calls"][-1].update(op="Erf")))
    page.open(tmp_path / "odd.html")
    assert "its operator Erf is not known here" in page.evaluate("document.getElementById('explorer').textContent")
    assert shown(page) == {} and rule_states(page) == []
    assert page.complaints() == []


def test_a_broken_rule_is_seen(page, loans, tmp_path):
    deepsade("train", loans / "loans.toml", "--out", tmp_path / "run", "--enforce", "none", "--quiet")
    deepsade("report", tmp_path / "run", "--out", tmp_path / "plain.html")
    page.open(tmp_path / "plain.html")
    assert "Not proved" in page.evaluate("document.getElementById('proof').textContent")
    (tmp_path / "yes.html").write_text(with_data((tmp_path / "plain.html").read_text(), always_yes))
    page.open(tmp_path / "yes.html")
    move(page, "income", 5)
    move(page, "area", 0, "menu")
    assert shown(page) == {"loan": "yes"} and rule_states(page) == ["broken"]
    assert page.evaluate("getComputedStyle(document.querySelector('.rule.broken b')).color") == "rgb(179, 38, 30)"
    assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_and_a_phone(page, loans, scheme, width):
    page.open(loans / "run" / "report.html", width=width, height=740, scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out to the right"
    # Every control can be reached by the keyboard and has a name.
    unnamed = "[...document.querySelectorAll('input, select, button')].filter((e) => e.checkVisibility() && !(e.labels?.length || e.ariaLabel || e.textContent.trim()))"
    assert page.evaluate(f"{unnamed}.map((e) => e.outerHTML)") == []
    assert page.evaluate("[...document.querySelectorAll('input, select, button')].every((e) => e.tabIndex === 0)")
    assert page.complaints() == []


def test_the_keyboard_moves_a_slider(page, loans):
    page.open(loans / "run" / "report.html")
    page.evaluate("document.querySelector('[data-feature=age]').closest('.feature').querySelector('input[type=range]').focus()")
    before = int(values(page)["age"])
    for kind in ["keyDown", "keyUp"]:
        page.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert int(values(page)["age"]) == before + 1
    assert shown(page) == {"loan": predicted(loans, loans / "run" / "model.onnx", values(page))["loan"]}


HOSTILE = "</script><img src=x onerror=alert(1)>"
LONG = "an_unbroken_name_of_many_letters_that_somebody_gave_to_a_column_and_nobody_shortened"


@pytest.fixture(scope="module")
def dossier(tmp_path_factory):
    """Two classes with hostile and long names, segments, a cut-off, and more rules than fit on cards."""
    folder = tmp_path_factory.mktemp("dossier")
    rows = [(i * 37 % 100, ["rural", HOSTILE, LONG][i % 3], 20 + i % 50, i % 7, "fm"[i % 2], "yes" if i * 37 % 100 + i % 13 > 45 else "no") for i in range(400)]
    with open(folder / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([("income", HOSTILE, "age", LONG, "sex", "loan"), *rows])
    report = {"title": "Loans " + HOSTILE, "version": "2026.1", "owner": "Credit risk " + LONG, "segments": ["sex", HOSTILE, "age"], "limits": ["Not for " + HOSTILE]}
    stated = "".join(f"{name} = {json.dumps(value)}\n" for name, value in report.items())
    rules = "".join(f'[[rule]]\nname = "rule {k} of {LONG}"\ntext = "income < {k % 40} and age > {20 + k % 50} => loan == \'no\'"\n' for k in range(481))
    (folder / "rows.toml").write_text(
        '[data]\nfile = "rows.csv"\ntargets = ["loan"]\nignore = ["sex"]\n[features.age]\nkind = "integer"\n[task]\nkind = "binary"\ncutoff = 0.4\n'
        f"[network]\nhidden = [8]\n[train]\nepochs = 5\nenforce = \"decode\"\n[report]\n{stated}{rules}"
    )
    deepsade("train", folder / "rows.toml", "--out", folder / "run", "--quiet")
    deepsade("report", folder / "run", "--data", folder / "rows.csv")
    return folder


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("which", ["dossier", "wine"])
def test_nothing_sticks_out_at_any_width(page, request, which, width):
    folder = request.getfixturevalue(which)
    page.open(folder / ("run" if which == "dossier" else "model") / "report.html", width=width, height=900)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Every part with what it holds lies on the page, or in a box that scrolls.
    beyond = (
        "[...document.querySelectorAll('main *, header *')].filter((e) => e.checkVisibility() && !e.closest('.scroll, svg, .track, #features')"
        f" && e.getBoundingClientRect().right > {width} + 1).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert page.evaluate(beyond) == []
    # What is folded sticks out no more when it is opened.
    page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints() == []


def test_names_stay_whole_and_text_keeps_its_room(page, dossier):
    page.open(dossier / "run" / "report.html", width=1280)
    # A cell of a table is never narrower than the words in it: a column of single letters is what hashes once made of the text.
    narrow = "[...document.querySelectorAll('td, th')].filter((e) => e.checkVisibility() && e.textContent.trim().length > 3 && e.clientWidth < 24).map((e) => e.outerHTML)"
    assert page.evaluate(narrow) == []
    # A name without a place to break stands on one line.
    whole = f"[...document.querySelectorAll('td')].filter((e) => e.checkVisibility() && e.textContent === {json.dumps(LONG)}).map((e) => e.getBoundingClientRect().height)"
    found = page.evaluate(whole)
    assert found and max(found) < 45, found
    lines = "[...document.querySelectorAll('.facts dt')].filter((e) => e.getClientRects()[0].height > 60).map((e) => e.textContent)"
    assert page.evaluate(lines) == []
    assert len(page.evaluate("document.querySelector('.facts').textContent.match(/[0-9a-f]{64}/g)")) == 2


def test_a_dossier_says_what_somebody_signs(page, dossier):
    page.open(dossier / "run" / "report.html")
    text = page.evaluate("document.body.innerText")
    summary = json.loads((dossier / "run" / "summary.json").read_text())
    facts = [summary["data"]["sha256"], "rows.csv, 400 rows used", "280 train, 40 validation, 80 test rows, drawn at random (seed 0)", "2026.1", summary["date"], "deepsade " + summary["program"]]
    facts += ["Proved: 481 rules hold", "above 0.4", "Known limits", "Not for " + HOSTILE, "Approved by", "By sex", "Calibration", "What matters", "Partial dependence"]
    for fact in facts:
        assert fact in text, fact
    assert page.evaluate("document.querySelector('h1').textContent") == "Loans " + HOSTILE
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    interval = summary["scores"]["test"]["intervals"]["accuracy"]
    row = page.evaluate("[...document.querySelectorAll('tr')].map((e) => e.innerText).find((t) => t.startsWith('accuracy'))")
    assert f"{interval[0]:.4f}"[:5] in row, row
    assert page.complaints() == []


def test_many_rules_are_searched_not_scrolled(page, dossier):
    page.open(dossier / "run" / "report.html")
    assert page.evaluate("document.querySelectorAll('.statement').length") == 0
    shown = "[...document.querySelectorAll('#rule-table tbody tr')].filter((e) => !e.hidden).length"
    assert page.evaluate(shown) == 481
    page.evaluate("(() => { const e = document.getElementById('rule-filter'); e.value = 'Rule 47'; e.dispatchEvent(new Event('input')); })()")
    assert page.evaluate(shown) == 11 and page.evaluate("document.getElementById('rule-count').textContent") == "11 of 481 rules"
    listed = "[...document.querySelectorAll('#rule-states li')].filter((e) => !e.hidden).length"
    assert page.evaluate(listed) == 12 and "481 rules: 0 broken" in page.evaluate("document.getElementById('rule-states-note').textContent")
    for part in ["Latent space", "Bounds of each layer"]:
        assert page.evaluate(f"[...document.querySelectorAll('details:not([open]) > summary')].some((e) => e.textContent.startsWith('{part}'))"), part


def test_it_prints_without_what_moves(page, dossier):
    page.open(dossier / "run" / "report.html", scheme="dark")
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        for part in ["nav", "#explorer", "#rule-filter", "details"]:
            assert not page.evaluate(f"document.querySelector('{part}').checkVisibility()"), part
        for part in [".sign", ".facts", "#proof", "#rule-table", "figure"]:
            assert page.evaluate(f"document.querySelector('{part}').checkVisibility()"), part
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=False)["data"])
        assert pdf.startswith(b"%PDF") and len(pdf) > 20000
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
