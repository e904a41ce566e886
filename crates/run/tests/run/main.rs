//! Runs through `execute`: against the simulated device, on real files, with workers that die, with logs and with checks.

#[cfg(test)]
mod engines;
#[cfg(test)]
mod files;
#[cfg(test)]
mod life;
#[cfg(test)]
mod logs;
mod monitored;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod support;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod verify;
