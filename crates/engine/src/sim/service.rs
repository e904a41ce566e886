//! Service time of an I/O: drawn from a distribution, with the noise of its interval and of its run, and the transfer.

use super::noise::{self, Noise};
use measure::{Nanos, SplitMix};
use plan::EngineOptions;

/// Default service time.
const SERVICE_TIME: Nanos = Nanos::from_micros(100);
/// Default spread of lognormal times.
const USUAL_SIGMA: f64 = 0.5;
/// Largest spread: the 99th percentile is then 130,000 times the median.
const MOST_SIGMA: f64 = 5.0;

/// Service time of an I/O.
#[derive(Clone, Debug)]
pub(super) struct ServiceTime {
    mean: Nanos,
    distribution: Distribution,
    /// Bytes per second; `None` for no transfer time.
    rate: Option<u64>,
    /// Period over which the mean falls from twice its value to its value (`sim_settling`); zero for none.
    settling: Nanos,
    noise: Noise,
    random: SplitMix,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Distribution {
    Fixed,
    Uniform,
    Exponential,
    /// The spread is the deviation of the logarithm.
    Lognormal(f64),
}

impl ServiceTime {
    /// Reads the options. Errors: the option with its value, and a form that works.
    pub(super) fn new(options: &EngineOptions) -> Result<Self, String> {
        let positive = |name: &str| options.integer(name).and_then(|value| u64::try_from(value).ok());
        let given = noise::first(options, "sim_sigma");
        if given.is_some() && options.text("sim_distribution") != Some("lognormal") {
            return Err("sim_sigma is the spread of lognormal times: add sim_distribution=lognormal".to_owned());
        }
        let spread = given.unwrap_or(USUAL_SIGMA);
        if !(0.0..=MOST_SIGMA).contains(&spread) {
            return Err(format!("sim_sigma={spread}: it is from 0 to {MOST_SIGMA}, like 0.5"));
        }
        Ok(ServiceTime {
            mean: positive("sim_service_time").map_or(SERVICE_TIME, Nanos),
            distribution: match options.text("sim_distribution") {
                Some("uniform") => Distribution::Uniform,
                Some("exponential") => Distribution::Exponential,
                Some("lognormal") => Distribution::Lognormal(spread),
                _ => Distribution::Fixed,
            },
            rate: positive("sim_rate").filter(|&rate| rate > 0),
            settling: positive("sim_settling").map_or(Nanos::ZERO, Nanos),
            noise: Noise::new(options)?,
            random: SplitMix::new(noise::run_seed(options)),
        })
    }

    /// The service time of an I/O of this length that is flushed at `now`, with this factor on its mean.
    #[inline]
    pub(super) fn draw(&mut self, length: u32, now: Nanos, factor: f64) -> Nanos {
        let own = match factor * self.noise.factor(now) {
            1.0 => self.mean_at(now),
            factor => scaled(self.mean_at(now), factor),
        };
        let mean = own.as_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time ≥ 0; the cast saturates")]
        let access = match self.distribution {
            Distribution::Fixed => own,
            Distribution::Uniform => Nanos((2.0 * mean * self.random.fraction()) as u64),
            Distribution::Exponential => Nanos((-mean * (1.0 - self.random.fraction()).ln()) as u64),
            Distribution::Lognormal(spread) => {
                scaled(own, (spread * noise::normal(&mut self.random) - spread * spread / 2.0).exp())
            }
        };
        let transfer = self.rate.map_or(0, |rate| {
            let nanoseconds = u128::from(length) * u128::from(Nanos::SECOND.get()) / u128::from(rate);
            u64::try_from(nanoseconds).unwrap_or(u64::MAX)
        });
        // At least 1 ns: with no time at all, virtual time would stand still, and a job with a runtime would never end.
        access.saturating_add(Nanos(transfer)).max(Nanos(1))
    }

    /// Mean service time of an I/O that is flushed at `now`.
    #[inline]
    fn mean_at(&self, now: Nanos) -> Nanos {
        let left = self.settling.saturating_sub(now).get();
        if left == 0 {
            return self.mean;
        }
        let more = u128::from(self.mean.get()) * u128::from(left) / u128::from(self.settling.get());
        self.mean.saturating_add(Nanos(u64::try_from(more).unwrap_or(u64::MAX)))
    }
}

/// A time with a factor on it.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time ≥ 0; the cast saturates")]
fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.as_f64() * factor).round() as u64)
}
