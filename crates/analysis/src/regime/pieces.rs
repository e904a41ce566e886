//! Pieces of a run between changes of level, and which of them are steps of one slope.
//!
//! A rate that falls slowly is cut into levels, too. Within a true level the rate does not move; within a cut of a
//! slope it moves by about as much as the means of neighbours differ.

use crate::run_facts::float;
use crate::statistics::{Trend, drift_of_last_half, level_changes};

/// A piece that moves by more than this share of the jump next to it, in its direction, is part of a slope.
const LEAST_MOVE: f64 = 0.4;
/// A move is larger than this many times its error.
const LEAST_SURE: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One level.
    Level,
    /// One or more pieces that rise, or fall, as their means do.
    Slope,
}

/// Intervals `from..to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) shape: Shape,
}

/// Pieces of a series, at least one.
pub(super) fn of(rates: &[f64]) -> Vec<Piece> {
    let cuts = level_changes(rates).unwrap_or_default();
    let edges: Vec<usize> = std::iter::once(0).chain(cuts).chain([rates.len()]).collect();
    let mean = |at: usize| {
        let part = &rates[edges[at]..edges[at + 1]];
        part.iter().sum::<f64>() / float(part.len() as u64)
    };
    let count = edges.len() - 1;
    let jump = |at: usize| mean(at + 1) - mean(at);
    // The direction of a piece that moves with a jump next to it: 1 up, -1 down, 0 none.
    let direction = |at: usize| -> i32 {
        let (moved, error) = movement(&rates[edges[at]..edges[at + 1]]);
        let before = at.checked_sub(1).map(jump);
        let after = (at + 1 < count).then(|| jump(at));
        let goes_with = |jump: f64| {
            jump.signum() == moved.signum()
                && moved.abs() >= LEAST_MOVE * jump.abs()
                && moved.abs() > LEAST_SURE * error
        };
        match before.into_iter().chain(after).find(|&jump| goes_with(jump)) {
            Some(up) if up > 0.0 => 1,
            Some(_) => -1,
            None => 0,
        }
    };
    let mut found: Vec<(Piece, i32)> = Vec::new();
    for at in 0..count {
        let own = direction(at);
        let shape = if own == 0 { Shape::Level } else { Shape::Slope };
        match found.last_mut().filter(|(_, last)| own != 0 && *last == own) {
            Some((last, _)) => last.to = edges[at + 1],
            None => found.push((Piece { from: edges[at], to: edges[at + 1], shape }, own)),
        }
    }
    found.into_iter().map(|(piece, _)| piece).collect()
}

/// A level whose last half is settled, and the approach to it, if any: a slow approach has no change of level.
pub(super) fn without_approach(rates: &[f64], piece: Piece) -> Vec<Piece> {
    /// Intervals that are averaged.
    const TOGETHER: usize = 5;
    /// The approach ends within this share of the level; its mean is farther away than the next share.
    const NEAR: f64 = 0.05;
    const FAR: f64 = 0.1;
    let part = &rates[piece.from..piece.to];
    let is_settled = drift_of_last_half(part).is_some_and(|found| found.trend() == Trend::Settled);
    if piece.shape == Shape::Slope || !is_settled {
        return vec![piece];
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / float(part.len() as u64);
    let (early, last) = part.split_at(part.len() / 2);
    let level = mean(last);
    let away = |part: &[f64]| (mean(part) / level - 1.0).abs();
    let noise = (last.iter().map(|rate| (rate / level - 1.0).powi(2)).sum::<f64>() / float(last.len() as u64)).sqrt();
    let blocks: Vec<f64> = early.chunks_exact(TOGETHER).map(away).collect();
    let near = NEAR.max(LEAST_SURE * noise);
    let count = blocks.iter().rposition(|&away| away > near).map_or(0, |last| TOGETHER * (last + 1));
    if count < TOGETHER || away(&part[..count]) < FAR || blocks[0] < blocks[count / TOGETHER - 1] {
        return vec![piece];
    }
    let edge = piece.from + count;
    vec![Piece { to: edge, shape: Shape::Slope, ..piece }, Piece { from: edge, ..piece }]
}

/// How far the least-squares line of a piece goes over it, and the standard error of that. The first and the last
/// interval are left out: a change within an interval does not count as a slope.
fn movement(piece: &[f64]) -> (f64, f64) {
    let inside = if piece.len() >= 5 { &piece[1..piece.len() - 1] } else { piece };
    let count = float(inside.len() as u64);
    let mean = inside.iter().sum::<f64>() / count;
    let place = |at: usize| float(at as u64) - (count - 1.0) / 2.0;
    let spread = count * (count * count - 1.0) / 12.0;
    let slope = inside.iter().enumerate().map(|(at, rate)| place(at) * rate).sum::<f64>() / spread;
    let rest = inside.iter().enumerate().map(|(at, rate)| (rate - mean - slope * place(at)).powi(2)).sum::<f64>();
    let error = (rest / (count - 2.0).max(1.0) / spread).sqrt();
    let length = float(piece.len() as u64);
    (slope * length, error * length)
}
