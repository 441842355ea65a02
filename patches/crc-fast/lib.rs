//! CRC-64/NVME, the sum of S3's `x-amz-checksum-crc64nvme`, as the crate `object_store` asks the crate `crc-fast` for it (Cargo.toml).

/// The sums that there are.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    Crc64Nvme,
}

/// The sum of what came so far.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

/// The polynomial, lowest power first.
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;

/// For each byte, and for each number of zero bytes behind it, its part of a sum.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut all = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u64, 0);
        while bit < 8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        all[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let sum = all[zeros - 1][byte];
            all[zeros][byte] = (sum >> 8) ^ all[0][(sum & 255) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    all
}

impl Digest {
    pub fn new(algorithm: CrcAlgorithm) -> Digest {
        match algorithm {
            CrcAlgorithm::Crc64Nvme => Digest(!0),
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut sum = self.0;
        for word in words {
            let mixed = (sum ^ u64::from_le_bytes(*word)).to_le_bytes();
            sum = (0..8).fold(0, |all, i| all ^ TABLES[7 - i][usize::from(mixed[i])]);
        }
        self.0 = rest.iter().fold(sum, |sum, byte| (sum >> 8) ^ TABLES[0][((sum & 255) ^ u64::from(*byte)) as usize]);
    }

    pub fn finalize(self) -> u64 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_catalogue_however_they_are_cut() {
        let sum = |pieces: &[&[u8]]| {
            let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
            pieces.iter().for_each(|piece| digest.update(piece));
            digest.finalize()
        };
        // The check value of the catalogue of parametrised CRC algorithms, and the example of the NVM command set for 4 KiB of zeros.
        assert_eq!(sum(&[b"123456789"]), 0xae8b_1486_0a79_9888);
        assert_eq!(sum(&[b"1234", b"", b"56789"]), 0xae8b_1486_0a79_9888);
        assert_eq!(sum(&[&[0; 4096]]), 0x6482_d367_eb22_b64e);
    }
}
