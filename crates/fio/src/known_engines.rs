//! fio's engines that plumb does not have, each with the reason.

/// An engine of fio that needs a library.
macro_rules! needs {
    ($name:literal, $library:literal) => {
        ($name, concat!("it needs ", $library, ", which plumb does not link"), None)
    };
    ($name:literal, $library:literal, $instead:literal) => {
        ($name, concat!("it needs ", $library, ", which plumb does not link"), Some($instead))
    };
}

/// Name, reason, and a way to the same storage if there is one.
pub(crate) const NOT_CARRIED: &[(&str, &str, Option<&str>)] = &[
    needs!("rbd", "librbd", "map the image (rbd map) and give filename=/dev/rbd0"),
    needs!("rados", "librados"),
    needs!("http", "libcurl"),
    needs!("nbd", "libnbd", "attach the export (nbd-client) and give filename=/dev/nbd0"),
    needs!("nfs", "libnfs", "mount the export and give directory= the mount point"),
    needs!("dfs", "libdfs of DAOS", "mount the container (dfuse) and give directory= the mount point"),
    needs!("libhdfs", "libhdfs", "mount it by FUSE and give directory= the mount point"),
    needs!("rdma", "librdmacm and libibverbs", "ioengine=net measures TCP and UDP"),
    needs!("librpma_apm_client", "librpma"),
    needs!("librpma_apm_server", "librpma"),
    needs!("librpma_gpspm_client", "librpma"),
    needs!("librpma_gpspm_server", "librpma"),
    needs!("libcufile", "libcufile and a GPU"),
    needs!("libhipfile", "libhipfile and a GPU"),
    needs!("xnvme", "libxnvme", "ioengine=io_uring_cmd does NVMe commands"),
    needs!("libblkio", "libblkio", "ioengine=io_uring does the same I/O by the kernel"),
    needs!("gfapi", "libgfapi", "mount the volume and give directory= the mount point"),
    needs!("gfapi_async", "libgfapi", "mount the volume and give directory= the mount point"),
    needs!("ime_psync", "the client of IME"),
    needs!("ime_psyncv", "the client of IME"),
    needs!("ime_aio", "the client of IME"),
    needs!("pmemblk", "libpmemblk", "ioengine=mmap with a file on a file system with dax"),
    needs!("libpmem", "libpmem", "ioengine=mmap with a file on a file system with dax"),
    needs!("dev-dax", "libpmem", "ioengine=mmap with a file on a file system with dax"),
    needs!("libiscsi", "libiscsi", "log in (iscsiadm) and give filename= the device"),
    needs!("libzbc", "libzbc", "give filename= the zoned device and zonemode=zbd"),
    ("guasi", "it was withdrawn", None),
    ("syslet-rw", "it was withdrawn", None),
    ("windowsaio", "it exists on Windows only", None),
    ("solarisaio", "it exists on Solaris only", None),
];

/// Returns the reason why plumb does not have this engine; `None` for an unknown name.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    if name.starts_with("external:") {
        return Some("engines from shared objects are not loaded");
    }
    NOT_CARRIED.iter().find(|(known, ..)| *known == name).map(|(_, reason, _)| *reason)
}

/// A way to the storage that this engine is for, without it.
pub(crate) fn instead(name: &str) -> Option<&'static str> {
    NOT_CARRIED.iter().find(|(known, ..)| *known == name).and_then(|(.., instead)| *instead)
}

/// The refusal of an option that may be one of an engine that plumb does not have.
pub(crate) fn refusal_of_option(option: &str, engine: &str, reason: &str) -> String {
    format!("option `{option}` is refused: it is not plumb's, and the engine {engine} is refused: {reason}")
}
