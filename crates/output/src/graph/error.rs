//! What is wrong with a piece, or with the values given to it: which call, and why.

/// Why a piece cannot be prepared or run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A call that cannot be understood or run.
    #[error("the call that makes '{makes}' ({op}): {why}")]
    Call {
        /// The tensor it makes.
        makes: String,
        /// Its operator.
        op: String,
        /// What is wrong.
        why: Wrong,
    },
    /// A name that two tensors have.
    #[error("two tensors are called '{name}'")]
    Twice {
        /// The name.
        name: String,
    },
    /// A name that no tensor has.
    #[error("no tensor is called '{name}'")]
    Unknown {
        /// The name.
        name: String,
    },
    /// More or fewer values than there are names for.
    #[error("{found} values were given, expected {expected}")]
    Given {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A constant or given value whose data has another size than its dimensions say.
    #[error("'{name}' has {found} elements, its dimensions are {dims:?}")]
    Size {
        /// Its name.
        name: String,
        /// Its dimensions.
        dims: Vec<usize>,
        /// How many elements there are.
        found: usize,
    },
    /// A value that is not rows of numbers.
    #[error("a tensor of {element} with dimensions {dims:?} is not rows of float")]
    NotRows {
        /// What its elements are.
        element: &'static str,
        /// Its dimensions.
        dims: Vec<usize>,
    },
}

/// What is wrong with a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// An operator that is not among those known here.
    #[error("the operator is not known (domain '{domain}')")]
    Operator {
        /// Its domain.
        domain: String,
    },
    /// An attribute that the operator does not have here, or that stands there twice.
    #[error("the attribute '{name}' is not known, or is there twice")]
    UnknownAttribute {
        /// Its name.
        name: String,
    },
    /// An attribute that is missing or has a value that is not supported.
    #[error("the attribute '{name}' must be {expected}")]
    Attribute {
        /// Its name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// Too many or too few operands.
    #[error("it has {found} operands, expected {least} to {most}")]
    Operands {
        /// How many it has.
        found: usize,
        /// How many it must have.
        least: usize,
        /// How many it may have.
        most: usize,
    },
    /// An operand that must not be left out.
    #[error("operand {operand} is left out")]
    Absent {
        /// Its place, from 0.
        operand: usize,
    },
    /// It reads a tensor that nothing before it makes.
    #[error("it reads '{name}', which nothing before it makes")]
    Missing {
        /// The tensor.
        name: String,
    },
    /// An operand with elements of the wrong type.
    #[error("operand {operand} is of type {found}, expected {expected}")]
    Element {
        /// Its place, from 0.
        operand: usize,
        /// What its elements are.
        found: &'static str,
        /// What they must be.
        expected: &'static str,
    },
    /// Operands whose shapes do not fit together.
    #[error("shapes {a:?} and {b:?} do not fit")]
    Shapes {
        /// One shape.
        a: Vec<usize>,
        /// The other shape.
        b: Vec<usize>,
    },
    /// An operand with a shape that the operator does not take.
    #[error("an operand has the shape {found:?}, expected {expected}")]
    Shape {
        /// The shape.
        found: Vec<usize>,
        /// What it must be.
        expected: &'static str,
    },
    /// A new shape that a value cannot take.
    #[error("a value of shape {from:?} cannot take the shape {to:?}")]
    Reshape {
        /// Its shape.
        from: Vec<usize>,
        /// The new shape, as the operand states it.
        to: Vec<i64>,
    },
    /// An axis that does not exist, or that is named twice.
    #[error("there is no axis {axis} (rank {rank}), or it is named twice")]
    Axis {
        /// The axis.
        axis: i64,
        /// How many axes there are.
        rank: usize,
    },
    /// An index that is out of range.
    #[error("the index {index} is out of range for a length of {len}")]
    Index {
        /// The index.
        index: i64,
        /// The length of the axis.
        len: usize,
    },
    /// A whole number divided by zero.
    #[error("a whole number is divided by zero")]
    DivisionByZero,
    /// A result that is too large to be meant.
    #[error("the result would have the shape {dims:?}, which is more than {most} elements")]
    TooLarge {
        /// Its shape.
        dims: Vec<usize>,
        /// How many elements it may have.
        most: usize,
    },
    /// Texts that are too long together.
    #[error("the texts of the result would be more than {most} bytes")]
    TooLong {
        /// How many bytes they may have.
        most: usize,
    },
}
