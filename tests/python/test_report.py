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
    deepsade("train", folder / "loans.toml", "--out", folder / "run", "--quiet")
    deepsade("report", folder / "run", "--data", folder / "loans.csv")
    return folder


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
        for call in data["step"]["calls"]:
            call["reads"] = ["scores" if name == "deepsade.make.candidate" else name for name in call["reads"]]

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
