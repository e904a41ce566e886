//! Sequences that fio 3.33 issues, recorded, against ours.

use super::*;
