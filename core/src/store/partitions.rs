//! The partitions of AWS: parts of its cloud with regions, hosts and names of buckets of their own.

/// A partition. Only clients of object stores need the domains.
#[cfg_attr(not(feature = "cloud"), allow(dead_code))]
pub(super) struct Partition {
    /// How the names of its regions begin.
    pub regions: &'static str,
    /// The domain of its services.
    pub domain: &'static str,
    /// The domain of its services that are reached by IPv4 and IPv6; that of S3 is the other one.
    pub dual_domain: &'static str,
}

/// The largest, for regions of no other one.
const USUAL: Partition = Partition { regions: "", domain: "amazonaws.com", dual_domain: "api.aws" };

const OTHERS: [Partition; 7] = [
    Partition { regions: "us-gov-", domain: "amazonaws.com", dual_domain: "api.aws" },
    Partition { regions: "cn-", domain: "amazonaws.com.cn", dual_domain: "api.amazonwebservices.com.cn" },
    Partition { regions: "us-iso-", domain: "c2s.ic.gov", dual_domain: "api.aws.ic.gov" },
    Partition { regions: "us-isob-", domain: "sc2s.sgov.gov", dual_domain: "api.aws.scloud" },
    Partition { regions: "us-isof-", domain: "csp.hci.ic.gov", dual_domain: "api.aws.hci.ic.gov" },
    Partition { regions: "eu-isoe-", domain: "cloud.adc-e.uk", dual_domain: "api.cloud-aws.adc-e.uk" },
    Partition { regions: "eusc-", domain: "amazonaws.eu", dual_domain: "api.amazonwebservices.eu" },
];

/// The partition that a region is in.
pub(super) fn partition_of(region: &str) -> &'static Partition {
    OTHERS.iter().find(|partition| region.starts_with(partition.regions)).unwrap_or(&USUAL)
}
