//! Which questions need no research. A small coordinator calls questions of fact simple and answers
//! them from memory; code admits an answer without sources only to small talk, and to questions
//! about the assistant or the conversation.

use std::collections::BTreeSet;

use antiphon_figures::FigureEvidence;

/// Words of which greetings and thanks consist.
const GREETINGS: &str = "hi hello hey hiya howdy yo greetings welcome good morning afternoon \
    evening night day nice to meet you there all everyone see later soon bye goodbye thanks thank \
    thx cheers very much so many for your help please sorry ok okay fine great well cool yes no \
    hallo guten morgen tag abend nacht moin servus grüß gott danke dankeschön schön vielen dank \
    bitte tschüss bonjour salut bonsoir merci beaucoup au revoir hola buenos buenas días tardes \
    noches muchas gracias adiós ciao buongiorno buonasera grazie mille olá oi bom boa dia tarde \
    noite obrigado obrigada hej hallå tack hoi dag merhaba teşekkürler привет здравствуйте спасибо \
    你好 您好 谢谢 こんにちは ありがとう 안녕하세요 감사합니다 مرحبا شكرا";
/// Words that name who is spoken to, or what was said.
const ADDRESS: &str = "you your yours yourself we our us my me conversation chat going up dir \
    ihnen du euch unser unsere unserer tu toi vous notre eres puedes estás usted";
/// What else such questions consist of.
const TALK: &str = "i it that this is am are was were be been do does did can could will would \
    may might have has what who how why when which where a an the and or but of in on at about \
    from with just also again now today first last previous previously earlier before far s re ve \
    m d ll don t name called ask asked said say tell told talk talked discuss discussed question \
    questions answer answers answered message messages mean meant understand repeat summarise \
    summarize summary recap assist assistant bot ai able things doing feel feeling wie geht es wer \
    bist was kannst können habe ich gefragt gesagt frage antwort heißt heiße fasse zusammen \
    gespräch qui es êtes que peux pouvez faire comment ça va quoi quién qué hacer cómo";
/// The share of the words of an answer that the conversation has to have.
const GROUNDED: f64 = 0.6;
/// The least letters of a word that says something.
const SHORTEST: usize = 4;

/// An answer that the coordinator proposes without research.
///
/// ```
/// use antiphon_systems::deep_research::direct_response::DirectResponse;
/// let proposed = |query, text| DirectResponse { query, conversation: &[], response: Some(text) };
/// assert!(proposed("Hi, how are you?", "Fine, thanks!").is_admissible());
/// assert!(!proposed("How much leave do I have?", "25 days.").is_admissible());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DirectResponse<'t> {
    /// The question.
    pub query: &'t str,
    /// The earlier messages.
    pub conversation: &'t [&'t str],
    /// The answer; none if the responder is to word it.
    pub response: Option<&'t str>,
}

impl DirectResponse<'_> {
    /// Whether it may be delivered: to small talk; to a question about the assistant or the
    /// conversation, if it adds no figure; and to any other if the conversation has all of it.
    pub fn is_admissible(&self) -> bool {
        let asked = words(self.query);
        if asked.iter().all(|word| is_one_of(word, GREETINGS)) {
            return true;
        }
        if asked.iter().all(|word| is_talk(word))
            && asked.iter().any(|word| is_one_of(word, ADDRESS))
        {
            return self.response.is_none_or(|response| !self.adds_figures(response));
        }
        self.response.is_some_and(|response| {
            self.is_grounded(&asked, response)
                && !self.adds_figures(response)
                && !self.adds_names(response)
        })
    }

    /// Whether the conversation has what the question names, and most of what the answer says.
    fn is_grounded(&self, asked: &[String], response: &str) -> bool {
        let known: BTreeSet<String> = self.conversation.iter().flat_map(|it| words(it)).collect();
        let says = |word: &&String| word.chars().count() >= SHORTEST && !is_talk(word);
        let said = words(response);
        let said: Vec<&String> = said.iter().filter(says).collect();
        let found = said.iter().filter(|word| known.contains(**word)).count();
        #[expect(clippy::cast_precision_loss, reason = "an answer has few words")]
        let share = found as f64 / said.len().max(1) as f64;
        asked.iter().filter(says).all(|word| known.contains(word)) && share >= GROUNDED
    }

    /// Whether it states a number or a date that was not said before.
    fn adds_figures(&self, response: &str) -> bool {
        let mut known = FigureEvidence::exact();
        known.text(self.query);
        for message in self.conversation {
            known.text(message);
        }
        !known.mismatches(response).is_empty()
    }

    /// Whether it has a capitalised word, past the start of a sentence, that was not said before.
    fn adds_names(&self, response: &str) -> bool {
        let said = self.conversation.iter().chain([&self.query]);
        let known: BTreeSet<String> = said.flat_map(|it| words(it)).collect();
        let mut starts = true;
        response.split_whitespace().any(|word| {
            let is_start = std::mem::replace(&mut starts, word.ends_with(['.', '!', '?', ':']));
            let bare = word.trim_matches(|sign: char| !sign.is_alphanumeric());
            let is_name = bare.chars().count() > 1 && bare.starts_with(char::is_uppercase);
            is_name && !is_start && words(bare).iter().any(|part| !known.contains(part))
        })
    }
}

/// The words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn is_talk(word: &str) -> bool {
    [GREETINGS, ADDRESS, TALK].iter().any(|list| is_one_of(word, list))
}

fn is_one_of(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
