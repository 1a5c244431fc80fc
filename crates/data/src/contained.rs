//! Code of others enters that may panic on a damaged file; its result leaves, or what it panicked with, and nothing is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}
static HOOK: Once = Once::new();

/// Runs `work`; a panic is an error with its message. Panics of other threads are reported as ever.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                report(info);
            }
        }));
    });
    let outer = CONTAINED.replace(true);
    // What was being built is dropped with the panic: nothing half made is seen.
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    result.map_err(|panic| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "no reason given".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::contained;

    #[test]
    fn a_panic_becomes_an_error_and_the_next_call_is_as_good_as_new() {
        let end = [1, 2, 3].len();
        let error = contained(|| [1, 2, 3][std::hint::black_box(end)]).unwrap_err();
        assert!(error.contains("out of bounds"), "{error}");
        assert_eq!(contained(|| 2 + 2), Ok(4));
    }
}
