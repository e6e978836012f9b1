//! Documents as canonical text.

mod archives;
mod charset;
mod html;
mod markdown;
mod office;
mod table;
