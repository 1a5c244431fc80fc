//! A misspelt name enters, the closest known name leaves, for "did you mean".

/// The candidate closest to `name` (capitals count for nothing); none if nothing is even half alike.
pub(crate) fn nearest<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    let wanted = name.to_lowercase();
    let mut best: Option<(f64, String)> = None;
    for candidate in candidates {
        let candidate = candidate.as_ref();
        let alike = strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase());
        // Strictly better only: of two equally close names the earlier one is suggested.
        if alike >= 0.5 && best.as_ref().is_none_or(|(score, _)| alike > *score) {
            best = Some((alike, candidate.to_owned()));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_typos_and_stays_silent_about_strangers() {
        let names = ["Gender", "Married", "LoanAmount"];
        assert_eq!(nearest("gendr", names).as_deref(), Some("Gender"));
        assert_eq!(nearest("Loan_Amount", names).as_deref(), Some("LoanAmount"));
        assert_eq!(nearest("zzz", names), None);
    }
}
