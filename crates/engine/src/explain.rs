//! What the rules mean before anything is trained: can they be obeyed, do they contradict each other, do they confine.

mod pairs;
mod several;
pub mod weights;
pub mod words;

pub use crate::audit::{Audit, audit};
pub use crate::conflict::{
    Conflict, Conflicts, PairConflict, Possible, pair_conflict, possible, possible_within, smallest_conflict,
    smallest_conflict_until,
};
pub use crate::vacuous::{Vacuous, binding, says_nothing, vacuous, vacuous_notes, vacuous_pair};
pub use pairs::PairCount;
pub use several::at_stake;
pub use weights::through_weights;
pub use words::{Explanation, conflict_in_words, explain};
