//! A network enters; a plan of steps leaves: buffers assigned, and for each step where its gradient goes.

use std::ops::Range;

use deepsade_net::{Activation, Network, Op};

use super::PlanError;

/// What a step computes.
#[derive(Debug, Clone)]
pub enum NodeWork {
    /// `x * scale + shift`
    Affine { scale: Vec<f32>, shift: Vec<f32> },
    /// `W x + b`, with the parameters of layer `layer`.
    Dense { layer: usize },
    /// The activation; in place if it reads the slot it writes.
    Act(Activation),
    /// Some columns.
    Select(Vec<usize>),
    /// Side by side.
    Concat,
    /// The first times the single column of the second.
    Gate,
    /// A convolution or a pool of what is not trained.
    Given(Op),
}

/// Where the gradient with respect to a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Nowhere: the value does not depend on a parameter.
    Stop,
    /// It is the first to arrive in the buffer.
    Write,
    /// It adds to what arrived before.
    Add,
}

/// A value that a step reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadSlot {
    /// Its buffer.
    pub slot: usize,
    /// Its gradient.
    pub flow: Flow,
}

/// One step, in the order of the network's nodes.
#[derive(Debug, Clone)]
pub struct PlannedNode {
    /// What is computed.
    pub work: NodeWork,
    /// The values read.
    pub from: Vec<ReadSlot>,
    /// The buffer written; after all it reads, or the one it reads.
    pub to: usize,
}

/// A dense layer's place in the flat parameters: the weights, row by row, then the bias.
#[derive(Debug, Clone, Copy)]
pub struct ParameterSpan {
    /// Where its weights start.
    pub start: usize,
    /// Width of what it computes.
    pub outputs: usize,
    /// Width of what it reads.
    pub inputs: usize,
}

impl ParameterSpan {
    /// Its weights.
    pub fn w(&self) -> Range<usize> {
        self.start..self.start + self.outputs * self.inputs
    }

    /// Its bias.
    pub fn b(&self) -> Range<usize> {
        self.w().end..self.w().end + self.outputs
    }
}

/// How a change of units of the outputs can be moved into the last dense layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescaling {
    /// The layer computes the outputs: factor and offset.
    Affine,
    /// A gate follows it: a factor only, an offset would be gated too.
    Factor,
    /// Something else follows it.
    Fixed,
}

/// The steps of a network. Slot 0 is its input.
#[derive(Debug, Clone)]
pub struct LayerPlan {
    /// Steps that depend on no parameter: run once for a whole dataset.
    pub prelude: Vec<PlannedNode>,
    /// All other steps.
    pub steps: Vec<PlannedNode>,
    /// Width of each slot.
    pub widths: Vec<usize>,
    /// The slots that `steps` read and do not write.
    pub tables: Vec<usize>,
    /// The dense layers among `steps`, in order.
    pub layers: Vec<ParameterSpan>,
    /// How many parameters they have.
    pub parameters: usize,
    /// The slot of the network's output.
    pub output: usize,
    /// What the last layer can take over.
    pub units: Rescaling,
}

impl LayerPlan {
    /// Checks the network and lays it out.
    pub fn new(network: &Network) -> Result<Self, PlanError> {
        network.validate()?;
        if let Some(node) = network.nodes.iter().position(|n| matches!(n.op, Op::Choose(_))) {
            return Err(PlanError::Choice { node });
        }
        let value_widths = network.widths();
        let readers = readers(network);
        let mut plan = Self {
            prelude: Vec::new(),
            steps: Vec::new(),
            widths: vec![network.inputs],
            tables: Vec::new(),
            layers: Vec::new(),
            parameters: 0,
            output: 0,
            units: Rescaling::Fixed,
        };
        // Slot of each value, and whether the value depends on a parameter.
        let mut slots = vec![0];
        let mut trained = vec![false];
        for (k, node) in network.nodes.iter().enumerate() {
            let depends = matches!(node.op, Op::Dense { .. }) || node.from.iter().any(|&v| trained[v]);
            let from: Vec<_> = node.from.iter().map(|&v| ReadSlot { slot: slots[v], flow: Flow::Stop }).collect();
            if depends && matches!(node.op, Op::Conv(_) | Op::MaxPool(_)) {
                return Err(PlanError::Given { node: k, op: node.op.name() });
            }
            trained.push(depends);
            // An activation needs only its own result to be differentiated, so it may overwrite what it alone reads,
            // unless that is the result of another activation.
            let in_place = matches!(node.op, Op::Act(_))
                && node.from.iter().all(|&v| trained[v] && readers[v] == 1 && !matches!(network.nodes[v - 1].op, Op::Act(_)));
            let to = if in_place { from[0].slot } else { plan.widths.len() };
            if !in_place {
                plan.widths.push(value_widths[k + 1]);
            }
            slots.push(to);
            let step = PlannedNode { work: plan.work(&node.op), from, to };
            if depends { plan.steps.push(step) } else { plan.prelude.push(step) }
        }
        plan.output = slots[network.nodes.len()];
        if !trained[network.nodes.len()] || plan.widths[plan.output] == 0 {
            return Err(PlanError::NothingToTrain);
        }
        plan.units = units(network, &readers);
        plan.direct_gradients();
        Ok(plan)
    }

    /// The last dense layer.
    pub fn last(&self) -> ParameterSpan {
        self.layers[self.layers.len() - 1]
    }

    fn work(&mut self, op: &Op) -> NodeWork {
        match op {
            Op::Affine { scale, shift } => NodeWork::Affine { scale: scale.clone(), shift: shift.clone() },
            Op::Dense { w, .. } => {
                let layer = ParameterSpan { start: self.parameters, outputs: w.rows, inputs: w.cols };
                self.parameters = layer.b().end;
                self.layers.push(layer);
                NodeWork::Dense { layer: self.layers.len() - 1 }
            }
            Op::Act(activation) => NodeWork::Act(*activation),
            Op::Select(columns) => NodeWork::Select(columns.clone()),
            Op::Concat => NodeWork::Concat,
            Op::Gate => NodeWork::Gate,
            Op::Conv(_) | Op::MaxPool(_) => NodeWork::Given(op.clone()),
            Op::Choose(_) => unreachable!("a plan has no choices"),
        }
    }

    /// Decides every [`Flow`]: gradients arrive from the last step to the first.
    fn direct_gradients(&mut self) {
        let mut written = vec![false; self.widths.len()];
        let mut moving = vec![false; self.widths.len()];
        for step in &self.steps {
            moving[step.to] = true;
        }
        for step in self.steps.iter_mut().rev() {
            for source in step.from.iter_mut().filter(|source| source.slot != step.to) {
                if moving[source.slot] {
                    source.flow = if written[source.slot] { Flow::Add } else { Flow::Write };
                    written[source.slot] = true;
                } else if !self.tables.contains(&source.slot) {
                    self.tables.push(source.slot);
                }
            }
        }
        self.tables.sort_unstable();
    }
}

/// How often each value is read.
fn readers(network: &Network) -> Vec<usize> {
    let mut readers = vec![0; network.nodes.len() + 1];
    network.nodes.iter().flat_map(|node| &node.from).for_each(|v| readers[*v] += 1);
    readers
}

fn units(network: &Network, readers: &[usize]) -> Rescaling {
    let is_dense = |value: usize| value > 0 && matches!(network.nodes[value - 1].op, Op::Dense { .. });
    match network.nodes.last() {
        Some(node) if matches!(node.op, Op::Dense { .. }) => Rescaling::Affine,
        // The gate's factor must not itself come out of the layer that is rescaled, nor the layer be read elsewhere.
        Some(node) if matches!(node.op, Op::Gate) && is_dense(node.from[0]) && readers[node.from[0]] == 1 => {
            let later_dense = (node.from[0] + 1..=network.nodes.len()).any(is_dense);
            if later_dense { Rescaling::Fixed } else { Rescaling::Factor }
        }
        _ => Rescaling::Fixed,
    }
}
