//! Conv with constant weights, and pools -> Conv, `MaxPool`.
//!
//! **Averages, and divisions of pictures.** What is divided by n becomes two convolutions: a sum with weights 1 (of one column for a
//! division), and a product with w, the float32 number next to 1 / n. Whatever a runtime computes is one evaluation of these two. Let it
//! compute s', a sum of k terms with magnitudes S in any order, so |s' - s| <= gamma(k - 1) S, and then s' / n (1 + d) or s' w (1 + d),
//! |d| <= u. As 1 / (n w) = 1 + h, |h| <= u / (1 - u) = gamma(1), s'' = s' / (n w) lies within gamma(k - 1) S + gamma(1) (1 + gamma(k - 1)) S
//! <= gamma(k) S of s: that is what the sum of k products is charged. And s' / n (1 + d) = s'' w (1 + d) is what one product is charged.
//! In exact arithmetic 1 / n is not w: `rounded` says so where n is no power of two.

use super::arithmetic::is_power_of_two;
use super::builder::TensorView;
use super::fusion::Written;
use super::node::NodeReader;
use crate::onnx::error::ImportError;
use crate::onnx::tensor;
use crate::{Conv, Op, Window};

impl NodeReader<'_, '_> {
    pub(super) fn conv(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        let Some(t) = self.constant(1)? else { return self.usage("it has no weights", "they must be constant") };
        let dims = tensor::dims(t)?;
        let groups = usize::try_from(self.int("group", 1)?).unwrap_or(0);
        let [outputs, each, kernel @ ..] = &dims[..] else {
            return self.usage(format!("its weights have shape {dims:?}"), "they need [outputs, channels, window]");
        };
        let fits = groups > 0 && each.checked_mul(groups) == Some(x.shape[0]) && outputs.is_multiple_of(groups);
        if !fits || kernel.len() + 1 != x.shape.len() || *outputs == 0 {
            let found =
                format!("its weights '{}' have shape {dims:?}, in {groups} groups, for rows of shape {:?}", t.name, x.shape);
            return self.usage(found, "channels and groups must agree");
        }
        let window = self.window(&x, kernel)?;
        let place = self.place();
        self.builder.charge(&place, dims.iter().product())?;
        let w = self.finite(t)?;
        let b = match self.constant(2)? {
            None => vec![0.0; *outputs],
            Some(b) if tensor::dims(b)?[..] == [*outputs] => self.finite(b)?,
            Some(b) => {
                return self.usage(format!("its bias '{}' is no vector of {outputs}", b.name), "it needs one number an output");
            }
        };
        let given = self.constant(2)?.is_some();
        let rows = self.windowed(Op::Conv(Conv { window, groups, w, b }), &x, *outputs)?;
        self.builder.mark(&rows, Written::Convolution);
        Ok(TensorView { open: !given, ..rows })
    }

    pub(super) fn max_pool(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        let kernel = self.kernel_shape(&x)?;
        let mut window = self.window(&x, &kernel)?;
        self.reach_over(&mut window)?;
        let channels = x.shape[0];
        self.windowed(Op::MaxPool(window), &x, channels)
    }

    pub(super) fn global_max_pool(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        let window = entire(&x.shape);
        let channels = x.shape[0];
        self.windowed(Op::MaxPool(window), &x, channels)
    }

    pub(super) fn global_average_pool(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        self.average(&x, entire(&x.shape))
    }

    /// The mean over all places of each channel, as newer exporters write a global average.
    pub(super) fn reduce_mean(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        let rank = x.shape.len() as i64 + 1;
        let axes = self.integers(1, "axes")?.unwrap_or_default();
        let mut counted: Vec<i64> = axes.iter().map(|a| if *a < 0 { a + rank } else { *a }).collect();
        counted.sort_unstable();
        if counted.iter().copied().ne(2..rank) {
            return self.usage(format!("its axes are {axes:?}"), "only the mean over all places of each channel is read");
        }
        let mean = self.average(&x, entire(&x.shape))?;
        // Measured in onnxruntime 1.31: the same numbers at another place of the batch are added up in another order.
        let note = format!("{}: a runtime may add up rows of one batch in different orders here", self.place());
        self.builder.made.push(note);
        let shape = if self.int("keepdims", 1)? == 0 { vec![x.shape[0]] } else { mean.shape };
        Ok(TensorView { shape, ..mean })
    }

    pub(super) fn average_pool(&mut self) -> Result<TensorView, ImportError> {
        let x = self.picture()?;
        let kernel = self.kernel_shape(&x)?;
        let window = self.window(&x, &kernel)?;
        if self.int("ceil_mode", 0)? != 0 && rest(&window) != [0, 0] {
            return self.usage(
                "its windows reach over the end (ceil_mode)",
                "runtimes differ in what they divide by: set ceil_mode to 0",
            );
        }
        if window.pads != [0; 4] && self.int("count_include_pad", 0)? == 0 {
            return self.usage(
                "it divides by fewer numbers at the border (count_include_pad is 0)",
                "with pads only averages over the whole window are read: export with count_include_pad=1, or without pads",
            );
        }
        self.average(&x, window)
    }

    /// The sum over a window, then its product with one over the size of the window.
    fn average(&mut self, x: &TensorView, window: Window) -> Result<TensorView, ImportError> {
        let (channels, count) = (x.shape[0], window.size[0].saturating_mul(window.size[1]));
        let place = self.place();
        self.builder.charge(&place, channels.saturating_mul(count).saturating_add(window.reads()))?;
        let sum = Conv { window, groups: channels, w: vec![1.0; channels * count], b: vec![0.0; channels] };
        let sum = self.windowed(Op::Conv(sum), x, channels)?;
        let scale = vec![(count as f32).recip(); channels];
        self.reciprocals(&scale, &vec![count as f32; channels]);
        self.channel_product(&sum, scale)
    }

    /// `x / divisor` of a picture, one divisor a channel; `None` where that is not what it is, or its reciprocal vanishes.
    pub(super) fn divide_picture(&mut self, x: &TensorView, divisor: &[f32]) -> Result<Option<TensorView>, ImportError> {
        let channels = x.shape[0];
        if x.shape.len() < 2 || x.shape.len() > 3 || divisor.is_empty() {
            return Ok(None);
        }
        let size = divisor.len() / channels;
        let one_each = divisor.chunks_exact(size).all(|c| c.iter().all(|d| d.to_bits() == c[0].to_bits()));
        let divisors: Vec<f32> = divisor.iter().step_by(size).copied().collect();
        let scale: Vec<f32> = divisors.iter().map(|d| d.recip()).collect();
        // A quotient by 1 is a copy, as runtimes see it, too.
        if !one_each || !scale.iter().all(|s| s.is_normal()) || divisors.iter().all(|d| *d == 1.0) {
            return Ok(None);
        }
        self.reciprocals(&scale, &divisors);
        let ones = self.channel_product(x, vec![1.0; channels])?;
        self.channel_product(&ones, scale).map(Some)
    }

    /// Says where a reciprocal is not the float32 number that stands for it.
    fn reciprocals(&mut self, scale: &[f32], divisors: &[f32]) {
        if !divisors.iter().zip(scale).all(|(d, s)| is_power_of_two(*d) && s.is_normal()) {
            let note = format!("{}: a reciprocal was rounded to float32", self.place());
            self.builder.rounded.push(note);
        }
    }

    /// Each channel times one number.
    fn channel_product(&mut self, x: &TensorView, scale: Vec<f32>) -> Result<TensorView, ImportError> {
        let [channels, height, width] = lines(&x.shape);
        let one = Window { input: [channels, height, width], size: [1, 1], stride: [1, 1], dilation: [1, 1], pads: [0; 4] };
        let b = vec![0.0; channels];
        self.windowed(Op::Conv(Conv { window: one, groups: channels, w: scale, b }), x, channels)
    }

    /// `x + sign y` of two pictures of one shape: both side by side, and a window of one column over them. Products with 1, -1 and 0 are
    /// exact, so it rounds once, as the sum in the file does.
    pub(super) fn picture_sum(&mut self, x: &TensorView, y: &TensorView, sign: f32) -> Result<TensorView, ImportError> {
        for (sum, other, factors) in [(x, y, (1.0, sign)), (y, x, (sign, 1.0))] {
            if let Some(rows) = self.joined(sum, other, factors)? {
                return Ok(rows);
            }
        }
        for rows in [x, y] {
            if self.builder.is_sum_of_products(rows.index) {
                self.inexact("a runtime may start the sums before it with the other operand");
            }
        }
        let [channels, height, width] = lines(&x.shape);
        let place = self.place();
        self.builder.charge(&place, channels.saturating_mul(channels).saturating_mul(2))?;
        let both = self.builder.push(&place, Op::Concat, vec![x.index, y.index], vec![2 * channels, height, width])?;
        let window =
            Window { input: [2 * channels, height, width], size: [1, 1], stride: [1, 1], dilation: [1, 1], pads: [0; 4] };
        let weight = |k: usize| match (k / (2 * channels), k % (2 * channels)) {
            (o, c) if c == o => 1.0,
            (o, c) if c == o + channels => sign,
            _ => 0.0,
        };
        let w = (0..2 * channels * channels).map(weight).collect();
        let sum = self.windowed(Op::Conv(Conv { window, groups: 1, w, b: vec![0.0; channels] }), &both, channels)?;
        Ok(TensorView { shape: x.shape.clone(), ..sum })
    }

    /// `f x + g y` where x is a convolution that nothing else reads and that keeps the size of the picture: runtimes may start its sums with y,
    /// so y becomes one more term of it, read at the place of the result, and any order of all terms is charged. `None` where x is no
    /// such convolution, or where y is a sum that might take x in.
    fn joined(&mut self, x: &TensorView, y: &TensorView, (f, g): (f32, f32)) -> Result<Option<TensorView>, ImportError> {
        if self.builder.is_sum_of_products(y.index) {
            return Ok(None);
        }
        let Some(conv) = self.builder.own_convolution(x) else { return Ok(None) };
        let Conv { mut window, groups, w, b } = conv.clone();
        let ([size, each], outputs) = ([window.size[0] * window.size[1], window.input[0]], b.len());
        // The place in the window that reads the column of the result itself.
        let own = [0, 1].map(|k| (window.pads[k] % window.dilation[k] == 0).then(|| window.pads[k] / window.dilation[k]));
        let same = window.stride == [1, 1] && window.places() == Some([window.input[1], window.input[2]]);
        let ([Some(down), Some(right)], true, 1) = (own, same, groups) else { return Ok(None) };
        if down >= window.size[0] || right >= window.size[1] {
            return Ok(None);
        }
        let place = self.place();
        self.builder.charge(&place, outputs.saturating_mul(each.saturating_add(outputs)).saturating_mul(size))?;
        let mut wider = Vec::with_capacity(outputs * (each + outputs) * size);
        for o in 0..outputs {
            wider.extend(w[o * each * size..(o + 1) * each * size].iter().map(|w| f * w));
            let start = wider.len();
            wider.resize(start + outputs * size, 0.0);
            wider[start + o * size + down * window.size[1] + right] = g;
        }
        let from = self.builder.network.nodes[x.index - 1].from[0];
        window.input[0] += outputs;
        let shape = window.input.to_vec();
        let both = self.builder.push(&place, Op::Concat, vec![from, y.index], shape)?;
        let b = b.iter().map(|b| f * b).collect();
        let mut sum = self.windowed(Op::Conv(Conv { window, groups: 1, w: wider, b }), &both, outputs)?;
        self.builder.remove(x.index);
        sum.index -= 1;
        Ok(Some(TensorView { shape: x.shape.clone(), ..sum }))
    }

    /// The first operand: rows of `[channels, width]` or `[channels, height, width]`.
    fn picture(&self) -> Result<TensorView, ImportError> {
        let x = self.with_batch()?;
        if (2..=3).contains(&x.shape.len()) {
            return Ok(x);
        }
        self.usage(format!("it reads rows of shape {:?}", x.shape), "[channels, width] or [channels, height, width] are read")
    }

    fn kernel_shape(&self, x: &TensorView) -> Result<Vec<usize>, ImportError> {
        let shape: Option<Vec<usize>> =
            self.attribute("kernel_shape").and_then(|a| a.ints.iter().map(|n| usize::try_from(*n).ok()).collect());
        match shape.filter(|s| s.len() + 1 == x.shape.len()) {
            Some(shape) => Ok(shape),
            None => self.usage("its kernel_shape is missing or of another rank", "it needs one number a dimension"),
        }
    }

    /// The window that the node's attributes describe.
    fn window(&self, x: &TensorView, kernel: &[usize]) -> Result<Window, ImportError> {
        let rank = kernel.len();
        let numbers = |name: &str, n: usize, default: usize| -> Result<Vec<usize>, ImportError> {
            let Some(a) = self.attribute(name) else { return Ok(vec![default; n]) };
            match a.ints.iter().map(|v| usize::try_from(*v).ok()).collect::<Option<Vec<usize>>>() {
                Some(found) if found.len() == n => Ok(found),
                _ => self
                    .usage(format!("its {name} are {:?}", a.ints), "they must be numbers from 0 on, one a dimension (pads: two)"),
            }
        };
        if numbers("kernel_shape", rank, 1)?.iter().zip(kernel).any(|(a, k)| self.attribute("kernel_shape").is_some() && a != k) {
            return self.usage("its kernel_shape is not that of its weights", "both must agree");
        }
        let (strides, dilations) = (numbers("strides", rank, 1)?, numbers("dilations", rank, 1)?);
        let pads = numbers("pads", 2 * rank, 0)?;
        let two = |v: &[usize], missing: usize| if rank == 1 { [missing, v[0]] } else { [v[0], v[1]] };
        let (before, after) = (two(&pads[..rank], 0), two(&pads[rank..], 0));
        let mut window = Window {
            input: lines(&x.shape),
            size: two(kernel, 1),
            stride: two(&strides, 1),
            dilation: two(&dilations, 1),
            pads: [before[0], before[1], after[0], after[1]],
        };
        let known = |n: &usize| *n > 0 && *n <= 1 << 20;
        let small = |n: &usize| *n <= 1 << 20;
        if !window.size.iter().chain(&window.stride).chain(&window.dilation).all(known) || !window.pads.iter().all(small) {
            return self
                .usage("its window, strides, dilations or pads are 0 or huge", "they must be between 1 and 2^20 (pads from 0)");
        }
        self.pad(&mut window)?;
        match window.places() {
            Some(_) => Ok(window),
            None => self.usage(
                format!("its window {kernel:?} does not fit into rows of shape {:?}", x.shape),
                "it must fit, pads included",
            ),
        }
    }

    /// What `auto_pad` makes of the pads.
    fn pad(&self, window: &mut Window) -> Result<(), ImportError> {
        let automatic = self.attribute("auto_pad").and_then(|a| a.s.clone()).unwrap_or_default();
        let same = match &automatic[..] {
            b"" | b"NOTSET" => None,
            b"VALID" => {
                window.pads = [0; 4];
                None
            }
            b"SAME_UPPER" => Some(false),
            b"SAME_LOWER" => Some(true),
            other => {
                return self
                    .usage(format!("its auto_pad is '{}'", String::from_utf8_lossy(other)), "the standard has no such value");
            }
        };
        if !matches!(&automatic[..], b"" | b"NOTSET") && self.attribute("pads").is_some_and(|a| a.ints.iter().any(|p| *p != 0)) {
            return self.usage("it has pads beside auto_pad", "runtimes load no such file: state one of the two");
        }
        if same.is_some() && window.dilation != [1, 1] {
            return self
                .usage("its auto_pad stands beside dilations", "runtimes pad for other windows then: state the pads instead");
        }
        for axis in 0..2 {
            let reach = (window.size[axis] - 1) * window.dilation[axis] + 1;
            let (n, stride) = (window.input[axis + 1], window.stride[axis]);
            if let Some(lower) = same {
                // Where windows leave gaps at both ends, runtimes crop or do not.
                let Some(total) = ((n.div_ceil(stride) - 1) * stride + reach).checked_sub(n) else {
                    return self.usage("its auto_pad would have to take lines away", "state the pads instead");
                };
                let less = total / 2;
                (window.pads[axis], window.pads[axis + 2]) = if lower { (total - less, less) } else { (less, total - less) };
            }
        }
        Ok(())
    }

    /// With `ceil_mode` one window more where some of the picture is left. No pads as large as the window: runtimes load no such file.
    fn reach_over(&self, window: &mut Window) -> Result<(), ImportError> {
        let left = if self.int("ceil_mode", 0)? == 0 { [0, 0] } else { rest(window) };
        for (axis, rest) in left.into_iter().enumerate().filter(|(_, rest)| *rest > 0) {
            let places = window.places().map_or(0, |p| p[axis]);
            // It begins inside of the picture or its pads before it: where it would not, runtimes disagree.
            if places * window.stride[axis] >= window.input[axis + 1] + window.pads[axis] {
                return self.usage("its last window would begin outside of the picture (ceil_mode)", "set ceil_mode to 0");
            }
            window.pads[axis + 2] += window.stride[axis] - rest;
        }
        if (0..4).any(|k| window.pads[k] >= window.size[k % 2]) {
            return self.usage("its pads are as large as its window", "runtimes refuse that: they must be smaller");
        }
        Ok(())
    }

    /// Adds a node over windows, with so many channels of results.
    fn windowed(&mut self, op: Op, x: &TensorView, channels: usize) -> Result<TensorView, ImportError> {
        let window = match &op {
            Op::Conv(conv) => &conv.window,
            Op::MaxPool(window) => {
                let place = self.place();
                self.builder.charge(&place, window.reads())?;
                window
            }
            other => unreachable!("{} has no window", other.name()),
        };
        let [down, right] = window.places().unwrap_or([0, 0]);
        let shape = if x.shape.len() == 2 { vec![channels, right] } else { vec![channels, down, right] };
        let place = self.place();
        let width = self.builder.fits(&place, &shape)?;
        self.builder.charge(&place, width)?;
        self.builder.push(&place, op, vec![x.index], shape)
    }
}

/// Channels, height and width of a picture; a signal has height 1.
fn lines(shape: &[usize]) -> [usize; 3] {
    match shape {
        [channels, height, width] => [*channels, *height, *width],
        [channels, width] => [*channels, 1, *width],
        other => [1, 1, other.iter().product()],
    }
}

/// The window that is the whole picture.
fn entire(shape: &[usize]) -> Window {
    let input = lines(shape);
    Window { input, size: [input[1], input[2]], stride: [1, 1], dilation: [1, 1], pads: [0; 4] }
}

/// What is left behind the last window, each way.
fn rest(window: &Window) -> [usize; 2] {
    [0, 1].map(|axis| {
        let reach = (window.size[axis] - 1) * window.dilation[axis] + 1;
        (window.input[axis + 1] + window.pads[axis] + window.pads[axis + 2])
            .checked_sub(reach)
            .map_or(0, |r| r % window.stride[axis])
    })
}
