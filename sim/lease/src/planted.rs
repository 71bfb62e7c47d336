//! Versions of the protocol that are wrong, each with the scene and the laws whose checks must see it.

use crate::laws::Law;
use crate::protocol::Protocol;
use crate::scenes::Scene;

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident in $scene:ident breaks $($law:ident)+,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug { $($(#[$doc])* $bug,)+ }

        impl Bug {
            pub const ALL: &'static [Bug] = &[$(Bug::$bug),+];

            pub const fn breaks(self) -> &'static [Law] { match self { $(Bug::$bug => &[$(Law::$law),+]),+ } }

            pub const fn scene(self) -> &'static Scene { match self { $(Bug::$bug => &Scene::$scene),+ } }
        }
    };
}

bugs! {
    /// A settlement tests only that somebody holds the job.
    SettlesWithoutFence in PEOPLE breaks Newest,
    /// A settlement tests the owner's name only.
    SettlesByOwner in PEOPLE breaks Newest,
    /// A settlement compares with the fence of the record, held or not.
    SettlesByRecord in LEASES breaks Once,
    /// The start of a body is written without owner and fence.
    StartsWithoutFence in PEOPLE breaks Newest,
    /// What is given back is released whoever has it now.
    GivesBackWithoutFence in DRAIN breaks Newest,
    /// The fence begins anew after a release.
    ReleaseResetsFence in DRAIN breaks Fence Twins Newest,
    /// A settlement without an answer is repeated as a failure.
    UnknownIsFailure in LEASES breaks Truth,

    /// A renewal does not look whether its node was declared gone.
    RenewsTheGone in PAUSES breaks Renewal,
    /// A refused renewal is logged, and the work goes on.
    RefusalIgnored in PAUSES breaks Refused,
    /// A node counts its lease from the answer, not from the question.
    LeaseFromAnswer in LEASES breaks Overlap,
    /// A node stops its bodies after its lease has ended.
    FencesItselfLate in LEASES breaks Overlap,
    /// Expired nodes are read, then declared gone without a second look.
    DeclaresInTwoSteps in PAUSES breaks TakeOver,
    /// What the gone hold is read, then taken over without a second look.
    SweepsInTwoSteps in LEASES breaks Final,
    /// The jobs of those who have just expired are taken over, and never looked for again.
    SweepsByList in LEASES breaks Orphan,
    /// An owner without a row is not taken for gone.
    SweepsByMarkOnly in PURGE breaks Orphan,
    /// After a claim with an unknown outcome a node asks once what it holds.
    RecountsOnce in LEASES breaks Orphan,
    /// Losses are counted and never compared.
    LosesForEver in LEASES breaks Losses,

    /// A draining node goes on claiming and starting.
    DrainClaims in DRAIN breaks Drain,
    /// Who drains has no use for renewals, nor for the watch over them.
    DrainStopsRenewing in DRAIN breaks Overlap,
    /// A draining node says good-bye while a body runs.
    LeavesEarly in DRAIN breaks Overlap,

    /// A job that a person ends keeps its fence.
    CancelKeepsFence in PEOPLE breaks SentAway,
    /// A job that a person takes from its node keeps its fence.
    HandReleaseKeepsFence in PEOPLE breaks SentAway,
    /// A retry leaves the fence as it is.
    RetryKeepsFence in PEOPLE breaks Seen,
    /// A retry begins the fences anew.
    RetryResetsFence in PEOPLE breaks Fence Twins Newest,

    /// Nobody looks which server answers, and a settlement compares fences only.
    UnnoticedAndSettlesByFence in FAIL_OVER_LEASES breaks Fence Twins Newest,
    /// One counter of all renewals is to tell that history was lost.
    NoticesByAllBeats in FAIL_OVER_LEASES breaks Fence Twins Newest,
    /// Each node's own counter of renewals is to tell that history was lost.
    NoticesByOwnBeats in FAIL_OVER_LEASES breaks Fence Twins Newest,
    /// Lost history is handled, but fences go on from where they were.
    RaisesNoFence in FAIL_OVER breaks Fence,
    /// A constant is added to the fences: a second fail-over that loses this adds it again.
    RaisesByConstant in FAIL_OVER breaks Fence,
    /// Only the fences of live jobs are raised: a retry goes on with old ones.
    RaisesLiveJobs in FAIL_OVER_PEOPLE breaks Fence,
    /// Histories are counted: a second fail-over that loses the new number gives it out again.
    CountsHistories in FAIL_OVER breaks Overlap,
}

impl Protocol {
    /// Whether all that is written for a claim is guarded by owner and fence, and no pair is given out twice.
    pub(crate) fn guards_hold(&self) -> bool {
        use Bug as B;
        !matches!(
            self.bug,
            Some(
                B::SettlesWithoutFence
                    | B::SettlesByOwner
                    | B::SettlesByRecord
                    | B::StartsWithoutFence
                    | B::GivesBackWithoutFence
                    | B::ReleaseResetsFence
                    | B::RetryResetsFence
                    | B::UnnoticedAndSettlesByFence
                    | B::NoticesByAllBeats
                    | B::NoticesByOwnBeats
            )
        )
    }
}
