//! `deepsade init`: a data file enters, a rule file with comments leaves.

use std::path::Path;

use anyhow::bail;
use deepsade_engine::artifact::write_whole;
use deepsade_engine::draft::{DraftedFile, Role, Wishes, draft};
use deepsade_engine::problem::Problem;
use deepsade_spec::shown;
use serde_json::json;

use crate::args::InitArgs;
use crate::command::predict::same_file;
use crate::outcome::{Exit, emit, emit_data};
use crate::progress::ReadBar;
use crate::render::While;

/// Runs the command.
pub fn run(args: &InitArgs) -> anyhow::Result<Exit> {
    let printed = args.out == Path::new("-");
    if !printed && args.out.exists() {
        if same_file(&args.out, &args.data) {
            bail!("{} is the data file; name another with --out", args.out.display());
        }
        if !args.force {
            bail!("{} is there already; --force overwrites it, --out FILE names another", args.out.display());
        }
    }
    let folder = if printed { Path::new("") } else { args.out.parent().unwrap_or(Path::new("")) };
    let wishes = Wishes { targets: args.target.clone(), separator: args.separator, folder: folder.into() };
    let mut bar = ReadBar::new(args.quiet);
    let draft = draft(&args.data, &wishes, &mut |p| bar.update(p))?;
    // What is handed over is read as `train` reads it.
    Problem::parse(&draft.text, &args.out).while_doing(|| "the draft can't be read back, which is a defect".into())?;
    if printed {
        emit_data(&draft.text)?;
    } else {
        write_whole(&args.out, draft.text.as_bytes())?;
    }
    if args.json {
        emit(&(serde_json::to_string_pretty(&json!({"out": args.out, "draft": draft}))? + "\n"))?;
    } else if !printed && !args.quiet {
        emit(&in_words(&draft, &args.out))?;
    }
    Ok(Exit::Success)
}

fn in_words(draft: &DraftedFile, out: &Path) -> String {
    let used = draft.columns.iter().filter(|c| !matches!(c.role, Role::Out(_))).count();
    let kind = serde_json::to_value(draft.task).ok().and_then(|v| Some(v.as_str()?.to_owned())).unwrap_or_default();
    let targets: Vec<String> = draft.targets.iter().take(10).map(|t| shown::name(t).into_owned()).collect();
    let more = if draft.targets.len() > 10 { ", ..." } else { "" };
    let mut lines = vec![format!("{} rows, {used} features; {kind} of {}{more}.", draft.rows, targets.join(", "))];
    lines.extend(draft.notes.iter().map(|note| format!("note: {}.", shown::name(note))));
    let standing = draft.rules.iter().filter(|r| r.stands).count();
    let suggested = draft.rules.len() - standing;
    let stands = match standing {
        0 => "no rule stands yet: nothing is proved until one does".to_owned(),
        1 => "1 rule stands".to_owned(),
        n => format!("{n} rules stand"),
    };
    let more = if standing == 0 { "" } else { " more" };
    let file = shown::name(&out.display().to_string()).into_owned();
    lines.push(format!("{file}: {stands}; {suggested}{more} are suggested behind a #, with how many rows obey."));
    lines.push(format!("Next: look at it, then `deepsade train {file}`."));
    lines.join("\n") + "\n"
}
