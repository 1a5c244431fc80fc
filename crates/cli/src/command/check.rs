//! `deepsade check`: a model, rules and a certificate enter, the checker's verdict leaves.

use std::path::{Path, PathBuf};

use deepsade_check::{Verdict, check};
use deepsade_engine::artifact::{read_bytes, read_text};
use deepsade_engine::problem::Problem;
use deepsade_engine::recheck::{self, CheckFiles, RecheckError};
use deepsade_engine::unfinished;
use deepsade_engine::verdict::{accepted, as_deployed, as_json, claim_in_words, in_words};
use deepsade_spec::Claim;

use crate::args::CheckArgs;
use crate::outcome::{Exit, emit};

/// Runs the command.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let given = |given: &Option<PathBuf>, default: PathBuf| given.clone().unwrap_or(default);
    let of_dir = CheckFiles::of(args.dir.as_deref().unwrap_or(Path::new("")));
    let files = CheckFiles {
        model: given(&args.model, of_dir.model),
        rules: given(&args.rules, of_dir.rules),
        certificate: given(&args.certificate, of_dir.certificate),
        data: args.data.clone(),
    };
    let judged = match &args.vnnlib {
        Some(property) => of_property(&files.model, property, &files.certificate)?,
        None => self::files(&files)?,
    };
    // The rule file that training wrote beside the model states the columns of the data in their order; another may not.
    if let Some(rules) = &args.rules {
        let absent = Problem::read(rules)?.with_data(args.data.as_deref())?.absent_data();
        absent.iter().for_each(|note| eprintln!("note: {note}"));
    }
    let verdict = as_deployed(judged, args.real);
    let notes = accepted(&verdict).map(|proved| recheck::stated_otherwise(&files, proved)).unwrap_or_default();
    notes.iter().for_each(|note| eprintln!("note: {note}"));
    let folder = files.model.parent().unwrap_or(Path::new(""));
    if accepted(&verdict).is_none() && unfinished::mixed(folder) {
        eprintln!(
            "note: a run was killed while it replaced files of this folder, and the rest can't be renamed from here: run this command as \
             somebody who may write there"
        );
    }
    if args.json {
        let mut said = as_json(&verdict);
        if let Some(said) = said.as_object_mut().filter(|_| !notes.is_empty()) {
            said.insert("notes".into(), notes.into());
        }
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        emit(&format!("{}\n{}", in_words(&verdict), accepted(&verdict).map(claim_in_words).unwrap_or_default()))?;
    }
    Ok(if accepted(&verdict).is_some() { Exit::Success } else { Exit::Finding })
}

/// Checks files as they stand on the disk.
fn files(files: &CheckFiles) -> anyhow::Result<Verdict> {
    recheck::files(files).map_err(|e| match e {
        RecheckError::Rules(e) => e.into(),
        RecheckError::File(e) => e.into(),
        none @ RecheckError::NoCertificate { .. } => none.into(),
    })
}

/// Checks a certificate for a VNN-LIB property: rules, inputs and outputs are read from the property again.
fn of_property(model: &Path, property: &Path, certificate: &Path) -> anyhow::Result<Verdict> {
    let (bytes, text) = (read_bytes(model)?, read_text(certificate)?);
    let property = super::verify::read_property(property)?;
    Ok(check(&bytes, &Claim { schema: property.schema, rules: property.rules }, &text))
}
