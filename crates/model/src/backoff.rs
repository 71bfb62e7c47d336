//! How long a failed job waits: base · 2ⁿ, capped, spread by ±20 %.

use crate::limits::RETRY_JITTER_PER_CENT;
use crate::task::RetryRule;

/// The delay before the next try, after `failures` ≥ 1 failures. `dice` is a random number; any value is fine.
pub fn delay_ms(rule: RetryRule, failures: u32, dice: u64) -> i64 {
    let cap = rule.cap_ms.max(0);
    let doublings = failures.saturating_sub(1);
    let plain = match 1_i64.checked_shl(doublings) {
        Some(factor) if doublings < 63 => rule.base_ms.max(0).saturating_mul(factor).min(cap),
        _ if rule.base_ms > 0 => cap,
        _ => 0,
    };
    let reach = plain / 100 * RETRY_JITTER_PER_CENT + plain % 100 * RETRY_JITTER_PER_CENT / 100;
    let width = u64::try_from(reach).unwrap_or(0) * 2 + 1;
    plain - reach + i64::try_from(dice % width).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delays_double_until_the_cap() {
        let rule = RetryRule { count: 10, base_ms: 1_000, cap_ms: 60_000 };
        let middle = |failures| delay_ms(rule, failures, 0) * 100 / 80;
        let seen: Vec<i64> = (1..=8).map(middle).collect();
        assert_eq!(seen, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(delay_ms(RetryRule { base_ms: 0, ..rule }, 5, 7), 0);
    }

    proptest! {
        #[test]
        fn a_delay_lies_within_a_fifth_of_its_step(
            failures in 1_u32..=1 << 31, base_ms in 0_i64..=86_400_000, more_ms in 0_i64..=604_800_000, dice: u64,
        ) {
            let rule = RetryRule { count: 0, base_ms, cap_ms: base_ms + more_ms };
            let step = if failures > 40 && base_ms > 0 { rule.cap_ms as f64 }
                       else { (base_ms as f64 * 2_f64.powi(failures as i32 - 1)).min(rule.cap_ms as f64) };
            let delay = delay_ms(rule, failures, dice) as f64;
            prop_assert!(delay >= step * 0.8 - 1.0 && delay <= step * 1.2 + 1.0, "{delay} for step {step}");
            prop_assert!(base_ms == 0 || delay > 0.0 || step < 2.0);
        }
    }
}
