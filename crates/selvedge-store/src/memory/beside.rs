//! The state beside a thread's history: what its open calls are and wait for, its views, its usage.

use selvedge_event::{ChoiceResolution, OAuthNotice, Subscription, Usage, UserChoice, View};

use crate::{Changes, PlannedCall};

#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) open_calls: Vec<PlannedCall>,
    pub(super) choices: Vec<(UserChoice, Option<ChoiceResolution>)>,
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) oauth: Vec<OAuthNotice>,
    pub(super) views: Vec<View>,
    pub(super) usage: Usage,
}

impl Beside {
    /// Applies what a sync changes here; what it consumes and spawns is not here.
    pub(super) fn apply(&mut self, changes: Changes) {
        // ORDER: what appears comes before what goes, so that a call that is planned and settled by one sync is gone.
        self.open_calls.extend(changes.planned);
        self.choices.extend(changes.choices_opened.into_iter().map(|choice| (choice, None)));
        self.subscriptions.extend(changes.subscriptions_opened);
        for notice in changes.oauth {
            self.oauth.retain(|known| known.call_id != notice.call_id);
            self.oauth.push(notice);
        }
        for view in changes.views {
            self.views.retain(|known| known.view_type != view.view_type);
            self.views.push(view);
        }
        self.usage += changes.usage;

        for resolution in changes.choices_closed {
            if let Some((_, end)) = self.choices.iter_mut().find(|(choice, _)| choice.id == resolution.id) {
                *end = Some(resolution);
            }
        }
        self.subscriptions.retain(|subscription| !changes.subscriptions_closed.contains(&subscription.call_id));
        self.open_calls.retain(|call| !changes.settled.contains(&call.call_id));
        self.choices.retain(|(choice, _)| !changes.settled.contains(&choice.call_id));
        self.oauth.retain(|notice| !changes.settled.contains(&notice.call_id));
    }
}
