//! What the `[data]` table accepts and refuses.

use super::*;

fn parse(text: &str) -> DataSettings {
    toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refused(text: &str) -> String {
    match toml::from_str::<DataSettings>(text) {
        Err(e) => e.to_string(),
        Ok(settings) => settings.checked().expect_err(text).to_string(),
    }
}

#[test]
fn defaults() {
    let s = parse("file = 'a.csv'");
    s.clone().checked().unwrap();
    assert_eq!(s.missing, MissingPolicy::Error);
    assert_eq!(s.split.shares(), SplitShares { train: 0.7, validation: 0.1, test: 0.2 });
    assert_eq!((s.seed, s.breaking_rows, s.inject_violations), (0, BreakingRows::Keep, 0));
    assert_eq!((s.one_hot, s.recipe, s.rows, s.separator), (OneHot::Full, None, None, None));
}

#[test]
fn every_setting_is_read_and_survives_a_round_trip() {
    let s = parse(
        "file = 'a.csv'\ntargets = ['y']\nignore = ['', 'Gender']\nmissing = 'drop'\nseed = 7\nbreaking_rows = 0.5\n\
         split = { train = 0.6, validation = 0.2, test = 0.2 }\ninject_violations = 40\none_hot = 'drop-first'\n\
         recipe = 'mnist-sum'\nrows = 10\nseparator = ';'\nmissing_values = ['-', -9]\nindicator = true\nweight = 'w'",
    );
    s.clone().checked().unwrap();
    assert_eq!(s.breaking_rows, BreakingRows::Weight(0.5));
    assert_eq!(s.ignore, ["", "Gender"]);
    assert_eq!(s.recipe, Some(Recipe::MnistSum));
    assert_eq!(parse(&toml::to_string(&s).unwrap()), s);
    assert_eq!(parse("breaking_rows = 'drop'").breaking_rows, BreakingRows::Drop);
    assert_eq!(parse("breaking_rows = 1").breaking_rows, BreakingRows::Weight(1.0));
    parse("recipe = 'sushi'").checked().unwrap();
}

#[test]
fn refusals_name_the_setting() {
    assert!(refused("fil = 'a.csv'").contains("unknown field `fil`"));
    assert!(refused("targets = ['y']").contains("names no file"));
    assert!(refused("file = 'a'\nsplit = { train = 0.7, validation = 0.2, test = 0.2 }").contains("sum to 1"));
    assert!(refused("file = 'a'\nsplit = { train = 0.0, validation = 0.5, test = 0.5 }").contains("train is above 0"));
    assert!(refused("file = 'a'\nsplit = { train = 1.2, validation = -0.2, test = 0.0 }").contains("validation = -0.2"));
    assert!(refused("file = 'a'\nsplit = { train = nan, validation = 0.5, test = 0.5 }").contains("split"));
    assert!(refused("file = 'a'\nbreaking_rows = 1.5").contains("`breaking_rows = 1.5`"));
    assert!(refused("file = 'a'\nbreaking_rows = 'maybe'").contains("\"keep\", \"drop\" or a weight"));
    assert!(refused("file = 'a'\nmissing = 'ignore'").contains("unknown variant `ignore`"));
    assert!(refused("file = 'a'\nsplit = { by = 'd', column = 'c' }").contains("one of `column`, `by` and `file`"));
    assert!(refused("file = 'a'\nsplit = { column = 'c', train = 1.0 }").contains("leave the shares out"));
    assert!(refused("file = 'a'\nsplit = 'c'").contains("{ column = "));
    assert!(refused("file = 'a'\ntargets = ['y']\nweight = 'y'").contains("'y' is a target"));
    assert!(refused("file = 'a'\nimpute = 'median'\nmissing = 'drop'").contains("left out or filled in"));
    assert!(refused("file = 'a'\nimpute = 'average'").contains("most-frequent"));
    assert!(refused("file = 'a'\nrows = 0").contains("at least 1"));
    assert!(refused("file = 'a'\nseparator = '→'").contains("one ASCII character"));
    assert!(refused("file = 'a'\nseparator = ';;'").contains("separator"));
    assert!(refused("file = 'a'\ntargets = ['y', 'y']").contains("'y' is named twice"));
    assert!(refused("file = 'a'\ntargets = ['y']\nignore = ['y']").contains("'y' is named twice"));
    assert!(refused("file = 'a'").contains("'a'"));
    assert!(refused("recipe = 'nope'").contains("mnist-sum"));
}
