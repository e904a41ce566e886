//! Runs through `execute`: against the simulated device, on real files, and with workers that die.

#[cfg(test)]
mod files;
#[cfg(test)]
mod life;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod support;
