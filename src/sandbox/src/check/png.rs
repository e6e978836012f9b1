//! PNG files: checks chunks and size before a decoder allocates pixels.

use super::{CheckResult, Refusal, ensure};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const CUT: Refusal = Refusal("a figure is truncated");
/// The chunks that pyplot writes, and others that only describe how pixels look.
const CHUNKS: [&[u8; 4]; 9] =
    [b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"pHYs", b"tEXt"];

/// Checks that `bytes` are one PNG image of at most `pixels` pixels with valid, harmless chunks;
/// returns its width and height.
///
/// # Errors
/// The violation, in words.
///
/// ```
/// use antiphon_sandbox::check;
///
/// assert!(check::figure(b"GIF89a", 1_000).is_err());
/// ```
pub fn figure(bytes: &[u8], pixels: u64) -> Result<(u32, u32), Refusal> {
    let rest = bytes.strip_prefix(SIGNATURE).ok_or(Refusal("a figure is not a PNG"))?;
    let (name, header, mut rest) = chunk(rest)?;
    ensure(name == b"IHDR", "a figure does not begin with an IHDR chunk")?;
    let size = dimensions(header, pixels)?;
    let mut has_data = false;
    loop {
        let (name, content, after) = chunk(rest)?;
        ensure(CHUNKS.contains(&name), "a figure has an unsupported chunk")?;
        has_data |= name == b"IDAT";
        if name == b"IEND" {
            ensure(
                content.is_empty() && after.is_empty(),
                "bytes follow the IEND chunk of a figure",
            )?;
            ensure(has_data, "a figure has no IDAT chunk")?;
            return Ok(size);
        }
        rest = after;
    }
}

fn dimensions(header: &[u8], pixels: u64) -> CheckResult<(u32, u32)> {
    let (width, rest) = header.split_first_chunk::<4>().ok_or(CUT)?;
    let (height, rest) = rest.split_first_chunk::<4>().ok_or(CUT)?;
    let (width, height) = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    let &[depth, color, compression, filter, interlace] = rest else { return Err(CUT) };
    ensure(width > 0 && height > 0, "the width or height of a figure is 0")?;
    ensure(u64::from(width) * u64::from(height) <= pixels, "a figure has too many pixels")?;
    let known = match color {
        0 => matches!(depth, 1 | 2 | 4 | 8 | 16),
        3 => matches!(depth, 1 | 2 | 4 | 8),
        2 | 4 | 6 => matches!(depth, 8 | 16),
        _ => false,
    };
    ensure(known, "the colour type of a figure is unsupported")?;
    ensure(
        compression == 0 && filter == 0 && interlace <= 1,
        "the compression, filter or interlace method of a figure is unsupported",
    )?;
    Ok((width, height))
}

/// Name and contents of the first chunk, and the rest.
fn chunk(bytes: &[u8]) -> CheckResult<(&[u8; 4], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(CUT)?;
    let (name, rest) = rest.split_first_chunk::<4>().ok_or(CUT)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| CUT)?;
    let (content, rest) = rest.split_at_checked(length).ok_or(CUT)?;
    let (sum, rest) = rest.split_first_chunk::<4>().ok_or(CUT)?;
    let found = name.iter().chain(content).fold(u32::MAX, |sum, byte| step(sum, *byte));
    ensure(!found == u32::from_be_bytes(*sum), "a chunk of a figure has a wrong CRC")?;
    Ok((name, content, rest))
}

/// One byte of PNG's CRC.
fn step(sum: u32, byte: u8) -> u32 {
    let [low, ..] = sum.to_le_bytes();
    let entry = SUMS.get(usize::from(low ^ byte)).copied().unwrap_or_default();
    (sum >> 8) ^ entry
}

static SUMS: [u32; 256] = sums();

#[expect(clippy::indexing_slicing, reason = "done by the compiler, which checks it")]
const fn sums() -> [u32; 256] {
    let mut sums = [0; 256];
    let mut byte = 0_u32;
    while byte < 256 {
        let (mut sum, mut bit) = (byte, 0);
        while bit < 8 {
            sum = (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg());
            bit += 1;
        }
        sums[byte as usize] = sum;
        byte += 1;
    }
    sums
}
