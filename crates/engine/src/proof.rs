//! A certificate with what the checker said to it.

use deepsade_check::{Accepted, Certificate, Verdict};

/// A certificate, and what the checker said to it.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The certificate.
    pub certificate: Certificate,
    /// The checker's word.
    pub verdict: Verdict,
}

impl Proof {
    /// What was proved, if it was.
    pub fn accepted(&self) -> Option<&Accepted> {
        match &self.verdict {
            Verdict::Accepted(accepted) => Some(accepted),
            Verdict::Rejected { .. } => None,
        }
    }
}
