//! `deepsade completions`, `man` and `schema`: the command line and the rule file themselves enter, what shells, `man` and editors read leaves.

use anyhow::bail;
use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::outcome::{Exit, emit_data};

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "deepsade", &mut script);
    emit_data(&String::from_utf8(script)?)?;
    Ok(Exit::Success)
}

/// Prints the JSON schema of rule files.
pub fn schema() -> anyhow::Result<Exit> {
    emit_data(include_str!("../../assets/rule-file.schema.json"))?;
    Ok(Exit::Success)
}

/// Prints a manual page.
pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    let mut whole = Args::command();
    whole.build();
    let asked = match &args.command {
        None => whole,
        Some(name) => {
            let Some(found) = whole.get_subcommands().find(|command| command.get_name() == name) else {
                let names: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
                bail!("there is no command '{name}'; there are {}", names.join(", "))
            };
            found.clone()
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(asked).render(&mut page)?;
    emit_data(&String::from_utf8(page)?)?;
    Ok(Exit::Success)
}
