//! The network device that traffic to other machines goes through, and its speed.

use crate::machine::text::word;
use std::path::Path;

/// A network device with its speed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Name of the device, such as `eth0`.
    pub device: String,
    /// Speed in 10^6 bits per second, in each direction.
    pub megabits: u64,
}

/// Returns the device of the default route; without one, the fastest device that has a route. `None` if its speed is
/// not known, as of most virtual devices.
pub fn link(root: &Path) -> Option<Link> {
    let routes = word(&root.join("proc/net/route"))?;
    // Columns: device, destination, gateway, flags, references, use, metric; the first line has their names.
    let routes = routes.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_whitespace();
        let (device, destination) = (columns.next()?, columns.next()?);
        let metric: u64 = columns.nth(4)?.parse().ok()?;
        Some((device.to_owned(), destination.to_owned(), metric))
    });
    let routes: Vec<_> = routes.collect();
    let default = routes.iter().filter(|(_, destination, _)| destination == "00000000").min_by_key(|route| route.2);
    match default {
        Some((device, ..)) => with_speed(root, device),
        None => routes.iter().filter_map(|(device, ..)| with_speed(root, device)).max_by_key(|link| link.megabits),
    }
}

/// The speed as the driver reports it: -1, or an error, if there is none.
fn with_speed(root: &Path, device: &str) -> Option<Link> {
    let megabits = word(&root.join("sys/class/net").join(device).join("speed"))?.trim().parse().ok()?;
    (megabits > 0).then(|| Link { device: device.to_owned(), megabits })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

    #[test]
    fn the_link_is_of_the_default_route_or_the_fastest_with_one() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let route = |device: &str, to: &str, metric: u32| {
            format!("{device}\t{to}\t0100A8C0\t0003\t0\t0\t{metric}\t00FFFFFF\t0\t0\t0\n")
        };
        for (device, speed) in [("eth0", "1000\n"), ("eth1", "10000\n"), ("eth2", "-1\n")] {
            write(&format!("sys/class/net/{device}/speed"), speed);
        }
        let found = |routes: &[String]| {
            write("proc/net/route", &(HEAD.to_owned() + &routes.concat()));
            link(place.path()).map(|link| (link.device, link.megabits))
        };
        let (first, second) = (route("eth0", "00000000", 100), route("eth1", "00000000", 200));
        assert_eq!(found(&[second, first]), Some(("eth0".to_owned(), 1000)), "the lower metric");
        let local = [route("eth0", "0000A8C0", 0), route("eth1", "0000000A", 0), route("eth3", "0000FEA9", 0)];
        assert_eq!(found(&local), Some(("eth1".to_owned(), 10_000)));
        assert_eq!(found(&[route("eth2", "00000000", 0)]), None, "a virtual device");
        assert_eq!(found(&["damaged\n".to_owned()]), None);
        assert_eq!(link(Path::new("/none")), None);
    }
}
