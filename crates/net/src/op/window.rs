//! Window: which columns of a picture, channel by channel and line by line, a convolution or a pool reads for each of its results.

use std::ops::Range;

/// The picture that is read, and the window that moves over it. Signals of one dimension are pictures of height 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Channels, height and width of what is read.
    pub input: [usize; 3],
    /// Height and width of the window.
    pub size: [usize; 2],
    /// Steps down and to the right from one window to the next.
    pub stride: [usize; 2],
    /// Steps between neighbours in the window.
    pub dilation: [usize; 2],
    /// Lines above, columns to the left, lines below and columns to the right that are not there.
    pub pads: [usize; 4],
}

impl Window {
    /// How many windows stand below and beside each other; `None` where there is none, or where numbers are absurd.
    pub fn places(&self) -> Option<[usize; 2]> {
        let along = |axis: usize| {
            let reach = self.size[axis].checked_sub(1)?.checked_mul(self.dilation[axis])?.checked_add(1)?;
            let room = self.input[axis + 1].checked_add(self.pads[axis])?.checked_add(self.pads[axis + 2])?.checked_sub(reach)?;
            (room.checked_div(self.stride[axis])?).checked_add(1)
        };
        Some([along(0)?, along(1)?])
    }

    /// How many results a pool of this window has.
    pub fn results(&self) -> usize {
        self.places().map_or(0, |[down, right]| self.input[0].saturating_mul(down).saturating_mul(right))
    }

    /// Puts the columns that result `o` of a pool looks at into `columns`.
    pub fn columns_of(&self, o: usize, columns: &mut Vec<usize>) {
        columns.clear();
        let [down, right] = self.places().unwrap_or([1, 1]);
        let (channel, place) = (o / (down * right), o % (down * right));
        self.read(channel, (place / right, place % right), |column, _| columns.push(column));
    }

    /// Whether each window reads something of the picture.
    pub(crate) fn reads_always(&self) -> bool {
        self.places().is_some_and(|places| (0..2).all(|axis| (0..places[axis]).all(|at| !self.inside(axis, at).is_empty())))
    }

    /// How many columns all windows of a pool read together, at most.
    pub(crate) fn reads(&self) -> usize {
        let each = |axis: usize| self.size[axis].min(self.input[axis + 1]);
        self.results().saturating_mul(each(0)).saturating_mul(each(1))
    }

    /// Which places of the window that stands at `at` along an axis lie inside of the picture: those from the first that is not
    /// before it up to the last that is not behind it.
    fn inside(&self, axis: usize, at: usize) -> Range<usize> {
        let (start, pad, step) = (at * self.stride[axis], self.pads[axis], self.dilation[axis]);
        let first = pad.saturating_sub(start).div_ceil(step);
        let behind = (self.input[axis + 1] + pad).saturating_sub(start).div_ceil(step);
        first..behind.min(self.size[axis])
    }

    /// Columns of what is read.
    pub fn columns(&self) -> Option<usize> {
        self.input.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
    }

    /// Calls `read(column, place)` for what the window at `(down, right)` reads of one channel: the column of the value, and the place in
    /// the window, line by line. What lies outside of the picture is left out.
    #[inline]
    pub fn read(&self, channel: usize, (down, right): (usize, usize), mut read: impl FnMut(usize, usize)) {
        let [_, height, width] = self.input;
        let columns = self.inside(1, right);
        for i in self.inside(0, down) {
            let y = down * self.stride[0] + i * self.dilation[0] - self.pads[0];
            for j in columns.clone() {
                let x = right * self.stride[1] + j * self.dilation[1] - self.pads[1];
                read((channel * height + y) * width + x, i * self.size[1] + j);
            }
        }
    }
}
