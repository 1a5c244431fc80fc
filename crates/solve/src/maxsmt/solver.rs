//! SMT-LIB commands enter a solver's process; its answers leave, or the word that it did not answer in time.
//!
//! Reading and writing have threads of their own, so that a solver that hangs is killed at its limit whatever it does to its pipes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::sexpr::{Sexpr, is_whole, parse_one};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Unsolved;

/// The solvers that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SolverName {
    /// Z3.
    #[default]
    Z3,
    /// cvc5.
    Cvc5,
}

/// A solver that can't be used.
#[derive(Debug, Error)]
pub enum SolverError {
    /// It is not there.
    #[error(
        "the solver {} is not there (looked for '{}'): {}; or set {} to its path, or use maxsmt = \"branch-and-bound\", which needs none",
        .name.name(), .program.display(), .name.package(), .name.variable()
    )]
    Missing {
        /// Which.
        name: SolverName,
        /// What was to be started.
        program: OsString,
    },
    /// It can't be started.
    #[error("the solver {} can't be started ('{}'): {source}; set {} to its path", .name.name(), .program.display(), .name.variable())]
    Start {
        /// Which.
        name: SolverName,
        /// What was to be started.
        program: OsString,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file that keeps what is sent can't be written.
    #[error("can't write the replay file {path}: {source}")]
    Replay {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

impl SolverName {
    /// How it is written in settings, and called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Z3 => "z3",
            Self::Cvc5 => "cvc5",
        }
    }

    /// The environment variable that says where it is.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Z3 => "DEEPSADE_Z3",
            Self::Cvc5 => "DEEPSADE_CVC5",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Z3 => {
                "install the Debian package z3 (apt-get install z3) or the PyPI package z3-solver (pip install z3-solver)"
            }
            Self::Cvc5 => "install the Debian package cvc5 (apt-get install cvc5); the PyPI package has no executable",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Z3 => &["-in", "-smt2"],
            Self::Cvc5 => &["--lang=smt2", "--incremental", "--quiet"],
        }
    }

    /// What is started: what the environment variable says, or the name itself, looked for on the path.
    pub fn program(self) -> OsString {
        std::env::var_os(self.variable()).filter(|p| !p.is_empty()).unwrap_or_else(|| self.name().into())
    }
}

/// A running solver; it is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    sender: Option<Sender<String>>,
    answers: Receiver<String>,
    deadline: Instant,
    replay: Option<File>,
}

impl Process {
    /// Starts `program`, which must be done by `deadline`; all that is sent goes into `replay`, too.
    pub fn start(name: SolverName, program: &OsStr, deadline: Instant, replay: Option<File>) -> Result<Self, SolverError> {
        let mut command = Command::new(program);
        command.args(name.arguments()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // A program that was written a moment ago is busy while a process forked meanwhile still holds it open for writing.
        let busy = |started: &std::io::Result<Child>| matches!(started, Err(e) if e.kind() == ErrorKind::ExecutableFileBusy);
        let mut started = command.spawn();
        while busy(&started) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            started = command.spawn();
        }
        let mut child = started.map_err(|source| match source.kind() {
            ErrorKind::NotFound => SolverError::Missing { name, program: program.into() },
            _ => SolverError::Start { name, program: program.into(), source },
        })?;
        let (mut stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, commands) = channel::<String>();
        std::thread::spawn(move || {
            for text in commands {
                if stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        let (answer, answers) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                if is_whole(&text) && answer.send(std::mem::take(&mut text)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, sender: Some(sender), answers, deadline, replay })
    }

    /// Sends commands that have no answer.
    pub fn tell(&mut self, text: &str) {
        if let Some(file) = &mut self.replay {
            // A full disk must not end a training; the file is for looking at.
            let _ = file.write_all(text.as_bytes());
        }
        if let Some(sender) = &self.sender {
            let _ = sender.send(text.to_string());
        }
    }

    /// Sends a command and waits for its answer.
    pub fn ask(&mut self, text: &str) -> Result<Sexpr, Unsolved> {
        self.tell(text);
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.answers.recv_timeout(left) {
            Ok(answer) => match parse_one(&answer) {
                Some(tree) if tree.list().is_some() && tree.head() == "error" => Err(Unsolved::Failed(answer.trim().to_string())),
                Some(tree) => Ok(tree),
                None => Err(Unsolved::Failed(format!("'{}' is no answer", answer.trim().chars().take(200).collect::<String>()))),
            },
            Err(RecvTimeoutError::Timeout) => Err(Unsolved::MaxSmtBudget),
            Err(RecvTimeoutError::Disconnected) => Err(Unsolved::Failed("its process ended".into())),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.sender = None;
        // A wrapper script's own children, too.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
