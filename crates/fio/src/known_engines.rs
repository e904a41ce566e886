//! fio's engines that plumb does not have, each with the reason.

/// Name and reason.
pub(crate) const NOT_CARRIED: &[(&str, &str)] = &[
    ("rbd", LIBRARY),
    ("rados", LIBRARY),
    ("http", LIBRARY),
    ("nbd", LIBRARY),
    ("nfs", LIBRARY),
    ("dfs", LIBRARY),
    ("libhdfs", LIBRARY),
    ("rdma", LIBRARY),
    ("librpma_apm_client", LIBRARY),
    ("librpma_apm_server", LIBRARY),
    ("librpma_gpspm_client", LIBRARY),
    ("librpma_gpspm_server", LIBRARY),
    ("libcufile", LIBRARY),
    ("libhipfile", LIBRARY),
    ("xnvme", LIBRARY),
    ("libblkio", LIBRARY),
    ("gfapi", LIBRARY),
    ("gfapi_async", LIBRARY),
    ("ime_psync", LIBRARY),
    ("ime_psyncv", LIBRARY),
    ("ime_aio", LIBRARY),
    ("pmemblk", LIBRARY),
    ("libpmem", LIBRARY),
    ("dev-dax", LIBRARY),
    ("libiscsi", LIBRARY),
    ("libzbc", LIBRARY),
    ("guasi", "it was withdrawn"),
    ("syslet-rw", "it was withdrawn"),
    ("windowsaio", "it exists on Windows only"),
    ("solarisaio", "it exists on Solaris only"),
];

const LIBRARY: &str = "it needs a library that plumb does not link";

/// Returns the reason why plumb does not have this engine; `None` for an unknown name.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    if name.starts_with("external:") {
        return Some("engines from shared objects are not loaded");
    }
    NOT_CARRIED.iter().find(|&&(known, _)| known == name).map(|&(_, reason)| reason)
}
