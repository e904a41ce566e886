//! Noise of the simulated device: slow seconds within a run, and runs that are slower than others. All in virtual time
//! and from the seed, so that a rule about noisy results can be tried where the truth is known.

use measure::{Nanos, SplitMix, split_mix};
use plan::EngineOptions;
use plan::option::Value;

/// Interval of the noise within a run, unless another one is given.
const INTERVAL: Nanos = Nanos::from_millis(500);
/// Sets the generators of one seed apart.
const LEVEL_SEED: u64 = 0x1e7e1;
const NOISE_SEED: u64 = 0x0153e;

/// Draws a standard normal number (Box and Muller).
#[inline]
pub(super) fn normal(random: &mut SplitMix) -> f64 {
    let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.fraction()).cos()
}

/// Factors on the service time.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// Of the whole run: its level, and the drift up to it.
    level: f64,
    /// Of an interval of the run; `None` for none.
    slow: Option<SlowNoise>,
}

/// An AR(1) process over the intervals of a run.
#[derive(Clone, Debug)]
struct SlowNoise {
    deviation: f64,
    correlation: f64,
    interval: Nanos,
    random: SplitMix,
    /// The interval of the present state.
    at: u64,
    /// The state, with deviation 1.
    state: f64,
    /// The present factor.
    factor: f64,
}

impl Noise {
    /// Reads the options. Errors: the option with its value, and a form that works.
    pub(super) fn new(options: &EngineOptions) -> Result<Self, String> {
        let (seed, run) = (seed(options), run(options));
        let level = pair(options, "sim_level")?.map_or(0.0, |(deviation, correlation)| {
            deviation * level_of(run, correlation, SplitMix::new(split_mix(seed ^ LEVEL_SEED)))
        });
        let drift = first(options, "sim_drift").unwrap_or(0.0);
        if drift.is_nan() || drift <= -1.0 {
            return Err(format!("sim_drift={drift}: it is a share by which each run is slower, like 0.002, above -1"));
        }
        let drifted = drift.ln_1p() * (run - 1) as f64;
        Ok(Noise { level: (level + drifted).exp(), slow: SlowNoise::new(options, run_seed(options))? })
    }

    /// The factor on the service time of an I/O that is flushed at `now`.
    #[inline]
    pub(super) fn factor(&mut self, now: Nanos) -> f64 {
        match &mut self.slow {
            Some(slow) => self.level * slow.factor(now),
            None => self.level,
        }
    }
}

impl SlowNoise {
    fn new(options: &EngineOptions, seed: u64) -> Result<Option<Self>, String> {
        let Some((deviation, correlation)) = pair(options, "sim_noise")? else { return Ok(None) };
        let interval = match third(options, "sim_noise") {
            None => INTERVAL,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; the cast saturates")]
            Some(seconds) if seconds > 0.0 => Nanos((seconds * 1e9) as u64).max(Nanos(1)),
            Some(seconds) => return Err(format!("sim_noise: an interval of {seconds} s; write it like 0.03:0.8:0.5")),
        };
        let mut random = SplitMix::new(split_mix(seed ^ NOISE_SEED));
        let state = normal(&mut random);
        let factor = (deviation * state).exp();
        Ok(Some(SlowNoise { deviation, correlation, interval, random, at: 0, state, factor }))
    }

    #[inline]
    fn factor(&mut self, now: Nanos) -> f64 {
        let at = now.get() / self.interval.get();
        if at > self.at {
            // Several steps at once: the correlation of their ends is its power.
            let kept = self.correlation.powf((at - self.at) as f64);
            self.state = kept * self.state + (1.0 - kept * kept).sqrt() * normal(&mut self.random);
            (self.at, self.factor) = (at, (self.deviation * self.state).exp());
        }
        self.factor
    }
}

/// The state of an AR(1) process at this run, with deviation 1.
fn level_of(run: u64, correlation: f64, mut random: SplitMix) -> f64 {
    let mut state = normal(&mut random);
    for _ in 1..run {
        state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(&mut random);
    }
    state
}

/// `sim_seed`.
fn seed(options: &EngineOptions) -> u64 {
    options.integer("sim_seed").and_then(|seed| u64::try_from(seed).ok()).unwrap_or(1)
}

/// `sim_run`, from 1.
fn run(options: &EngineOptions) -> u64 {
    options.integer("sim_run").and_then(|run| u64::try_from(run).ok()).unwrap_or(1).max(1)
}

/// The seed of this run: that of the option, and another one for each further run.
pub(super) fn run_seed(options: &EngineOptions) -> u64 {
    match run(options) {
        1 => seed(options),
        run => split_mix(seed(options) ^ split_mix(run)),
    }
}

fn floats<'a>(options: &'a EngineOptions, name: &str) -> &'a [f64] {
    match options.get(name) {
        Some(Value::Floats(floats)) => floats,
        _ => &[],
    }
}

/// The first number of an option.
pub(super) fn first(options: &EngineOptions, name: &str) -> Option<f64> {
    floats(options, name).first().copied()
}

fn third(options: &EngineOptions, name: &str) -> Option<f64> {
    floats(options, name).get(2).copied()
}

/// Deviation and correlation.
fn pair(options: &EngineOptions, name: &str) -> Result<Option<(f64, f64)>, String> {
    let Some(deviation) = first(options, name) else { return Ok(None) };
    let correlation = floats(options, name).get(1).copied().unwrap_or(0.0);
    if !(deviation >= 0.0 && deviation.is_finite()) {
        return Err(format!("{name}: a deviation of {deviation}; write it like {name}=0.03:0.8"));
    }
    if !(0.0..1.0).contains(&correlation) {
        return Err(format!(
            "{name}: a correlation of {correlation}, which is from 0 to below 1, like {name}=0.03:0.8"
        ));
    }
    Ok(Some((deviation, correlation)))
}

/// Two numbers above 0; `works` is a form that works. Errors: the option with its values, and that form.
pub(super) fn pair_of(options: &EngineOptions, name: &str, works: &str) -> Result<Option<(f64, f64)>, String> {
    match floats(options, name) {
        [] => Ok(None),
        &[one, other] if one > 0.0 && other > 0.0 && one.is_finite() && other.is_finite() => Ok(Some((one, other))),
        given => Err(format!("{name}: {given:?} is not two numbers above 0, like {name}={works}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&'static str, Value)]) -> EngineOptions {
        let mut options = EngineOptions::default();
        given.iter().for_each(|(name, value)| options.set(name, value.clone()));
        options
    }

    fn of_run(run: i64, given: &[(&'static str, Value)]) -> f64 {
        let mut options = options(given);
        options.set("sim_run", Value::Integer(run));
        Noise::new(&options).unwrap().factor(Nanos::ZERO).ln()
    }

    fn moments(values: &[f64]) -> (f64, f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
        (mean, (squares / count).sqrt(), products / squares)
    }

    #[test]
    fn without_options_there_is_no_noise() {
        let mut noise = Noise::new(&EngineOptions::default()).unwrap();
        assert!((0..100).all(|at| noise.factor(Nanos::from_secs(at)) == 1.0));
    }

    #[test]
    fn runs_have_the_deviation_correlation_and_drift_asked_for() {
        let level = [("sim_level", Value::Floats(vec![0.03, 0.9]))];
        let levels: Vec<f64> = (1..=4000).map(|run| of_run(run, &level)).collect();
        let (mean, deviation, correlation) = moments(&levels);
        // A correlated mean of 4,000 runs is worth about 210 values.
        assert!(mean.abs() < 0.006 && (deviation - 0.03).abs() < 0.003, "{mean} {deviation}");
        assert!((correlation - 0.9).abs() < 0.03, "{correlation}");
        let drift = [("sim_drift", Value::Floats(vec![0.002]))];
        assert!((of_run(51, &drift) - 50.0 * 0.002_f64.ln_1p()).abs() < 1e-12);
        let seed = |seed: i64| of_run(5, &[level[0].clone(), ("sim_seed", Value::Integer(seed))]);
        assert!(seed(3) == seed(3) && seed(3) != seed(4));
    }

    #[test]
    fn intervals_have_the_deviation_and_correlation_asked_for() {
        let given = [("sim_noise", Value::Floats(vec![0.05, 0.8, 0.1]))];
        let mut noise = Noise::new(&options(&given)).unwrap();
        let all: Vec<f64> = (0..8000).map(|at| noise.factor(Nanos::from_millis(50 * at)).ln()).collect();
        assert!(all.chunks(2).all(|pair| pair[0] == pair[1]), "an interval of 100 ms has one factor");
        let each: Vec<f64> = all.chunks(2).map(|pair| pair[0]).collect();
        let (mean, deviation, correlation) = moments(&each);
        assert!(mean.abs() < 0.01 && (deviation - 0.05).abs() < 0.004, "{mean} {deviation}");
        assert!((correlation - 0.8).abs() < 0.04, "{correlation}");
    }

    #[test]
    fn wrong_noise_is_refused_with_a_form_that_works() {
        for (name, floats) in [
            ("sim_level", vec![-0.1]),
            ("sim_level", vec![0.1, 1.0]),
            ("sim_noise", vec![0.1, -0.5]),
            ("sim_noise", vec![0.1, 0.5, 0.0]),
            ("sim_noise", vec![f64::NAN]),
            ("sim_drift", vec![-1.0]),
        ] {
            let message = Noise::new(&options(&[(name, Value::Floats(floats.clone()))])).unwrap_err();
            assert!(message.starts_with(name) && message.contains("like "), "{floats:?}: {message}");
        }
    }
}
