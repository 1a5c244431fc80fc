"""What no compiler looks at: links and pages of the documentation, and dependencies that nobody uses. Each check is shown to fail."""

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def slugs(text):
    """The anchors of a page's headings, as the git host and mdBook make them."""
    seen, found = {}, set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", without_code(text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def without_code(text):
    return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)


def bad_links(root):
    """Links between the pages of a repository to files and headings that are not there; pages of docs/ link to nothing outside it."""
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("python/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            where = f"{page.relative_to(root)}: {target}"
            if not path.is_file():
                yield f"{where}: no such file"
            elif page.parent.name == "docs" and path.parent != page.parent:
                yield f"{where}: is not part of the site"
            elif anchor and anchor not in slugs(path.read_text()):
                yield f"{where}: no such heading"


def pages_left_out(root):
    listed = re.findall(r"\]\(([^)]+)\)", (root / "docs/SUMMARY.md").read_text())
    return sorted({page.name for page in root.glob("docs/*.md")} - {"SUMMARY.md"} - set(listed))


def missing_files(root, text):
    """Files and folders that a page names in code, by the end of their path, and that are not there."""
    below = [path.relative_to(root) for part in ("crates", "tests", "docs", "benches", "scripts") for path in (root / part).rglob("*")]
    ends = {path.parts[k:] for path in below for k in range(len(path.parts))}
    for name in re.findall(r"`([^`\n]+)`", without_code(text)):
        if re.fullmatch(r"[\w./-]*(/[\w.-]*|\.(rs|py|md|toml))", name):
            parts = pathlib.PurePosixPath(name).parts
            if parts not in ends and (*parts[:-1], parts[-1] + ".rs") not in ends:
                yield name


def unused(crate):
    """Dependencies of a crate that its sources, or for those of tests its tests, never name by a path."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text())
    sources = [f for f in crate.glob("src/**/*.rs") if f.name != "tests.rs"]
    elsewhere = [f.parent / path for f in sources for path in re.findall(r'#\[path = "([^"]+)"\]\n(?:pub )?mod ', f.read_text())]
    shipped = "\n".join(re.sub(r"//.*", "", f.read_text()) for f in sources + elsewhere if "tests" not in f.parts)
    # Examples in comments and tests beside the sources are tests.
    tried = "\n".join(f.read_text() for part in ("src", "tests", "benches", "examples") for f in crate.glob(f"{part}/**/*.rs"))
    shared = "\n".join(f.read_text() for f in ROOT.glob("tests/rust/*.rs"))
    tables = [manifest, *manifest.get("target", {}).values()]
    for section, text in (("dependencies", shipped), ("dev-dependencies", tried + shared)):
        for name in sorted({name for table in tables for name in table.get(section, {})}):
            word = name.replace("-", "_")
            if not re.search(rf"(?<![\w:]){word}\s*::|\buse\s+{word}\b|\bextern\s+crate\s+{word}\b", text):
                yield f"{crate.name}: {section}: {name}"


def test_links_lead_somewhere():
    assert list(bad_links(ROOT)) == []


def test_every_page_is_on_the_site():
    assert pages_left_out(ROOT) == []


def test_the_map_names_what_is_there():
    text = (ROOT / "docs/architecture.md").read_text()
    assert text.count(".rs`") > 50
    assert list(missing_files(ROOT, text)) == []


def rooms(text):
    """For each crate the modules that the map lists for it."""
    listed = text.split("The rooms of each", 1)[1].split("\n\n", 2)[1]
    points = re.split(r"^- `(\w+)`", listed, flags=re.M)[1:]
    return {crate: set(re.findall(r"`(\w+)`", said)) for crate, said in zip(points[::2], points[1::2])}


def test_the_map_lists_every_room_and_no_other():
    found = rooms((ROOT / "docs/architecture.md").read_text())
    assert found.keys() == {crate.name for crate in (ROOT / "crates").iterdir() if crate.is_dir()}
    for crate, listed in found.items():
        there = {path.stem for path in (ROOT / "crates" / crate / "src").iterdir()} - {"lib", "main"}
        assert (crate, there - listed) == (crate, set())
        assert crate == "data" or (crate, {name for name in listed - there if name not in found}) == (crate, set())


def test_every_dependency_is_used():
    found = [fault for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")) for fault in unused(manifest.parent)]
    manifests = [tomllib.loads(m.read_text()) for m in ROOT.glob("crates/*/Cargo.toml")]
    tables = [table for m in manifests for table in (m, *m.get("target", {}).values())]
    wanted = {name for t in tables for s in ("dependencies", "dev-dependencies", "build-dependencies") for name in t.get(s, {})}
    offered = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    assert found + [f"workspace: {name}" for name in sorted(set(offered) - wanted)] == []


def test_the_checks_find_what_is_planted(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/SUMMARY.md").write_text("[A](a.md)\n")
    (tmp_path / "docs/a.md").write_text("# A `b`, c\n[x](#a-b-c) [y](b.md#gone) [z](b.md#it) [up](../README.md)\n```\n[code](none.md)\n```\n")
    (tmp_path / "docs/b.md").write_text("# It\n[x](c.md)\n")
    (tmp_path / "README.md").write_text("[a](docs/a.md) [site](https://example.org/none.md)\n")
    assert sorted(bad_links(tmp_path)) == [
        "docs/a.md: ../README.md: is not part of the site",
        "docs/a.md: b.md#gone: no such heading",
        "docs/b.md: c.md: no such file",
    ]
    assert pages_left_out(tmp_path) == ["b.md"]

    (tmp_path / "crates/a/src/b").mkdir(parents=True)
    (tmp_path / "crates/a/src/b/c.rs").write_text("")
    named = "`c.rs` `b/c.rs` `a/src/b` `b/` `b/c` `d.rs` `b/d.rs` `src/c.rs` `e/` `a::c` `no file`\n```\n`f.rs`\n```\n"
    assert list(missing_files(tmp_path, named)) == ["d.rs", "b/d.rs", "src/c.rs", "e/"]

    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(
        "[dependencies]\nused-here = '1'\nin-comment = '1'\nin-tests = '1'\n[target.'cfg(unix)'.dependencies]\nidle = '1'\n"
        "[dev-dependencies]\nin-tests = '1'\nsleepy = '1'\n"
    )
    (tmp_path / "src/lib.rs").write_text("use used_here::X; // in_comment::Y\nfn f() { crate::idle::g(); }\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.rs").write_text("in_tests::run();\n")
    name = tmp_path.name
    kinds = [("dependencies", "idle"), ("dependencies", "in-comment"), ("dependencies", "in-tests"), ("dev-dependencies", "sleepy")]
    assert list(unused(tmp_path)) == [f"{name}: {kind}: {which}" for kind, which in kinds]
