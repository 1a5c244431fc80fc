//! Items enter, what becomes of each leaves, in their order, whichever thread took it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads the machine has.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` makes of every item, on at most so many threads, the calling one among them; each thread has a `state` of its own.
/// `None` for the items that were not come to before `stop` said so.
pub fn map<T: Sync, R: Send, S>(
    items: &[T],
    threads: usize,
    stop: &(impl Fn() -> bool + Sync + ?Sized),
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<Option<R>> {
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        let mut state = state();
        while !stop() {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(k) else { break };
            let result = work(&mut state, item);
            *results[k].lock().expect("no thread panics while it holds a result") = Some(result);
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(items.len())).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    results.into_iter().map(|slot| slot.into_inner().expect("no thread panics while it holds a result")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::map;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 4, 200] {
            let squares = map(&items, threads, &|| false, || 0, |_, k| k * k);
            assert!(squares.iter().enumerate().all(|(k, s)| *s == Some(k * k)), "{threads} threads");
        }
        assert!(map(&[] as &[usize], 4, &|| false, || (), |(), k| *k).is_empty());
    }

    #[test]
    fn what_comes_after_a_stop_is_left() {
        let done = AtomicUsize::new(0);
        let stop = || done.load(Ordering::Relaxed) >= 3;
        let results = map(&[1; 10], 1, &stop, || (), |(), _| done.fetch_add(1, Ordering::Relaxed));
        assert_eq!(results.iter().flatten().count(), 3);
        assert!(results[3..].iter().all(Option::is_none));
    }
}
