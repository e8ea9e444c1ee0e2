//! Search finds words, and takes any text for words.

use crate::kit::World;

#[tokio::test]
async fn words_are_found_wherever_they_are_shown() {
    let world = World::new().await;
    world.say("a", "look").await;
    world.say("b", "Grüße aus Köln").await;
    let find = async |words: &str| {
        let hits = world.sessions.search(words, 20).await.unwrap();
        let hits = hits.into_iter().map(|hit| (hit.thread.to_string(), hit.item.to_string()));
        hits.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let hit = |thread: &str, item: &str| (thread.to_owned(), item.to_owned());
    assert_eq!(find("zugspitze").await, [hit("a", "1.3")], "the arguments of a call");
    assert_eq!(find("fog glacier").await, [hit("a", "1.3")], "the result of a call, in the call's item");
    assert_eq!(find("there it").await, [hit("a", "2.0")], "what the model said");
    assert_eq!(find("gruße").await, [hit("b", "1.0"), hit("b", "1.1")], "accents do not count");
    assert_eq!(find("kol").await, [hit("b", "1.0"), hit("b", "1.1")], "the beginning of the last word");
    assert_eq!(find("zugspitze gruße").await, [], "all words in one text");
}

#[tokio::test]
async fn a_snippet_shows_where_the_words_are() {
    let world = World::new().await;
    world.say("a", &format!("{} needle {}", "hay ".repeat(200), "stack ".repeat(200))).await;
    let hit = world.sessions.search("needle", 1).await.unwrap().remove(0);
    assert!(hit.snippet.text.len() < 300);
    assert_eq!(hit.snippet.words.iter().map(|word| &hit.snippet.text[word.clone()]).collect::<Vec<_>>(), ["needle"]);
}

#[tokio::test]
async fn no_text_breaks_a_query() {
    let world = World::new().await;
    world.say("a", "hello").await;
    let pieces = [
        "\"", "'", "*", "AND", "OR", "NOT", "NEAR(", ")", "^", ":", "-", "{a b}", "text:", "\0", "\\", "hello", "é",
        "+", ",",
    ];
    for first in pieces {
        for second in pieces {
            for text in [format!("{first}{second}"), format!("{first} {second}"), format!("hello {first}{second}hello")]
            {
                world.sessions.search(&text, 3).await.unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
            }
        }
    }
    assert_eq!(world.sessions.search("hello", 9).await.unwrap().len(), 2);
}
