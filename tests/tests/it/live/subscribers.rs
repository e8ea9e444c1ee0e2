//! Who subscribes, and what they are given.

use std::sync::Arc;

use selvedge::live::{AttachError, Ended, FrameKind, Live, Subscribe};
use selvedge::model::Gate;
use selvedge::prelude::*;
use selvedge_tests::in_paused_time;

use crate::live::kit::Watched;
use crate::scenarios::kit::obliging;

/// One client attaches three times without leaving, then a message is sent: each event once, and to the last of them.
#[test]
fn s03_one_client_attaches_three_times() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &obliging()).await;
        watched.say("t", "one").await;
        let tab = || Subscribe { client: Some("tab".into()), ..Subscribe::default() };
        let mut viewers = Vec::new();
        for _ in 0..3 {
            viewers.push(watched.subscribe("t", tab()).await);
        }
        assert_eq!(watched.live.stats().subscribers, 1);
        watched.say("t", "two").await;
        let mut last = viewers.pop().unwrap();
        last.catch_up().await;
        let expected =
            ["snapshot", "user_input", "completion_started", "text_chunk", "completion_finished", "committed"];
        assert_eq!(last.kinds(), expected);
        assert_eq!(last.transcript.items(), watched.durable("t").await.items());
        for mut replaced in viewers {
            replaced.catch_up().await;
            assert_eq!(replaced.kinds(), [] as [&str; 0]);
            assert!(matches!(replaced.subscriber.ended(), Some(Ended::Replaced)));
        }
    });
}

#[test]
fn whoever_attaches_in_the_middle_sees_the_whole() {
    in_paused_time(async {
        let gate = Gate::new();
        let model = ScriptedModel::new([Reply::text("half a ").wait(&gate).say("sentence")]);
        let watched = Watched::new(Live::default(), &model).await;
        watched.system.send_text(&"t".into(), "go").await.unwrap();
        gate.reached().await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        gate.open();
        viewer.catch_up().await;
        assert_eq!(viewer.kinds(), ["snapshot", "text_chunk", "completion_finished", "committed"]);
        assert_eq!(viewer.transcript.items(), watched.durable("t").await.items());
        assert!(matches!(viewer.frames.last().unwrap().kind, FrameKind::Committed { step: 1 }));
    });
}

#[test]
fn a_thread_that_does_not_exist_cannot_be_attached_to() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &obliging()).await;
        let attach = selvedge::attach_to(&watched.system);
        let error = watched.live.subscribe(attach, "nobody".into(), Subscribe::default()).await.unwrap_err();
        let AttachError::Refused(cause) = error else { panic!("{error}") };
        assert_eq!(cause.to_string(), "there is no thread nobody");
    });
}

#[test]
fn a_shutdown_ends_subscribers_after_their_last_frame() {
    in_paused_time(async {
        let watched = Watched::new(Live::default(), &obliging()).await;
        watched.say("t", "one").await;
        let mut viewer = watched.subscribe("t", Subscribe::default()).await;
        watched.say("t", "two").await;
        watched.system.shutdown().await;
        viewer.catch_up().await;
        assert_eq!(viewer.transcript.items(), watched.durable("t").await.items());
        assert!(matches!(viewer.subscriber.ended(), Some(Ended::Closed)));
    });
}

/// More than a mailbox holds, all at once.
#[test]
fn subscribers_who_all_resync_at_once_all_get_back() {
    in_paused_time(async {
        let watched = Arc::new(Watched::new(Live::default(), &obliging()).await);
        watched.say("t", "one").await;
        let mut viewers = Vec::new();
        for _ in 0..2500 {
            viewers.push(watched.subscribe("t", Subscribe::default()).await);
        }
        // The thread is made anew under their eyes.
        watched.system.delete(&"t".into()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        watched.say("t", "another one").await;
        let tasks: Vec<_> = viewers
            .into_iter()
            .map(|mut viewer| {
                tokio::task::spawn_local(async move {
                    while viewer.subscriber.ended().is_none() && viewer.transcript.items().len() < 2
                        || viewer.frames.len() < 3
                    {
                        viewer.next().await;
                    }
                    viewer
                })
            })
            .collect();
        let expected = watched.durable("t").await;
        for task in tasks {
            let mut viewer = task.await.unwrap();
            viewer.catch_up().await;
            assert!(viewer.subscriber.ended().is_none(), "{:?}", viewer.subscriber.ended());
            assert_eq!(viewer.transcript.items(), expected.items());
        }
    });
}
