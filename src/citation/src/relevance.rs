//! Which passages bear on a question, by words alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::word::content_words;

/// From which share of the weight of a topic's words on a passage bears on it.
const LEAST: f64 = 0.3;
/// With more words a topic names several things, and one of them is enough.
const FEW: usize = 6;
/// The share of the best passage's weight that another needs to stand beside it.
const NEAR: f64 = 0.6;
/// The weight of a word that two of three texts have.
const ONE_WORD: f64 = 0.9;
/// What a word counts that stands only in the title of a passage or in the heading above it.
const CONTEXT: f64 = 0.5;
/// In how many texts a word stands that none has.
const NOWHERE: f64 = 0.5;
/// Words of questions that say nothing about their topic.
const ASKING: &str = "many long often far give tell list name find describe explain compare please \
                      viele lange finde nenne";

/// The words of a question and of the steps of its plan. A word that few texts have says more than
/// one that all of them have.
#[derive(Clone, Debug, Default)]
pub struct TopicWords {
    topics: Vec<Topic>,
}

/// The words of one topic with their weights.
#[derive(Clone, Debug, Default)]
struct Topic {
    words: BTreeMap<String, f64>,
    /// The largest weight of a word that some text has.
    heaviest: f64,
}

impl TopicWords {
    /// Those of a question and of further topics, weighed by the texts that were found.
    ///
    /// ```
    /// use antiphon_citation::TopicWords;
    /// let pages = ["In Hamn a ship may go 4 knots.", "The hospital of Hamn.", "The school of Hamn."];
    /// let topics = TopicWords::new("How fast may a ship be in Hamn, in knots?", &[], &pages);
    /// assert!(topics.bear_on(pages[0], ""));
    /// assert!(!topics.bear_on(pages[1], ""));
    /// ```
    pub fn new(question: &str, topics: &[String], texts: &[&str]) -> Self {
        let known: Vec<BTreeSet<String>> = texts.iter().map(|text| content_words(text)).collect();
        #[expect(clippy::cast_precision_loss, reason = "a run has few pages")]
        let weight =
            |having: usize| (1.0 + known.len().max(1) as f64 / (having as f64).max(NOWHERE)).ln();
        let having = |word: &String| known.iter().filter(|words| words.contains(word)).count();
        let says = |word: &String| !ASKING.split_whitespace().any(|one| one == word);
        let weighed = |text: &str| {
            let mut topic = Topic::default();
            for word in content_words(text).into_iter().filter(says) {
                let count = having(&word);
                if count > 0 {
                    topic.heaviest = topic.heaviest.max(weight(count));
                }
                topic.words.insert(word, weight(count));
            }
            topic
        };
        let all = std::iter::once(question).chain(topics.iter().map(String::as_str));
        Self { topics: all.map(weighed).filter(|topic| !topic.words.is_empty()).collect() }
    }

    /// Whether a passage bears on the question or on a step of its plan. What only its title or
    /// the heading above it says counts half.
    pub fn bear_on(&self, passage: &str, context: &str) -> bool {
        self.weights(passage, context).iter().any(|weight| *weight > 0.0)
    }

    /// How much of each topic a passage has, by the weight of its words; zero if it does not bear on
    /// it.
    pub fn weights(&self, passage: &str, context: &str) -> Vec<f64> {
        let (own, around) = (content_words(passage), content_words(context));
        let weight_of = |topic: &Topic| {
            let whole: f64 = topic.words.values().sum();
            let most =
                if topic.words.len() > FEW { topic.heaviest.min(ONE_WORD) } else { f64::INFINITY };
            let count = |word: &String| match () {
                () if own.contains(word) => 1.0,
                () if around.contains(word) => CONTEXT,
                () => 0.0,
            };
            let has_own = topic.words.keys().any(|word| own.contains(word));
            let found: f64 = topic.words.iter().map(|(word, weight)| weight * count(word)).sum();
            if has_own && found >= most.min(whole * LEAST) { found } else { 0.0 }
        };
        self.topics.iter().map(weight_of).collect()
    }

    /// Which passages come close to the best one on some topic, by their [weights](Self::weights). A
    /// topic that names several things has more than one best passage: what bears on it stays.
    ///
    /// ```
    /// use antiphon_citation::TopicWords;
    /// let pages = ["A keeper retires at the age of 65.", "A keeper lights the lamp.", "Tea is green."];
    /// let topics = TopicWords::new("At what age does a keeper retire?", &[], &pages);
    /// let weights = pages.map(|page| topics.weights(page, ""));
    /// assert_eq!(topics.nearest(&weights), [true, false, false]);
    /// ```
    pub fn nearest(&self, weights: &[Vec<f64>]) -> Vec<bool> {
        let weight = |own: &[f64], topic: usize| own.get(topic).copied().unwrap_or_default();
        let least = |(topic, asked): (usize, &Topic)| {
            let best = weights.iter().map(|own| weight(own, topic)).fold(0.0, f64::max);
            if asked.words.len() > FEW { f64::MIN_POSITIVE } else { best * NEAR }
        };
        let least: Vec<f64> = self.topics.iter().enumerate().map(least).collect();
        let is_near = |own: &Vec<f64>| {
            let mut all = least.iter().enumerate();
            all.any(|(topic, least)| {
                let own = weight(own, topic);
                own > 0.0 && own >= *least
            })
        };
        weights.iter().map(is_near).collect()
    }

    /// Whether a text has to do with none of the topics: it does not bear on any, and has no word of
    /// one that names several things.
    pub(crate) fn pass_by(&self, text: &str) -> bool {
        let own = content_words(text);
        let names = |topic: &Topic| {
            topic.words.len() > FEW && topic.words.keys().any(|word| own.contains(word))
        };
        !self.bear_on(text, "") && !self.topics.iter().any(names)
    }
}
