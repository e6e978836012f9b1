//! HTML to canonical text.

use antiphon_tools::document::{CharRange, DocumentText, html_text};
use proptest::prelude::*;

fn path(page: &DocumentText, position: usize) -> Vec<&str> {
    page.headings_at(position).into_iter().map(|heading| heading.title.as_str()).collect()
}

fn text(html: &str) -> String {
    html_text(html, 100_000).text
}

#[test]
fn blocks_lists_and_tables_stand_on_their_own_lines() {
    let page = "<body><p>One\n  two</p><ul><li>a<li>b<ol><li>c</ol></ul><table><tr><th>x<th>y<tr><td>1<td>2</table>";
    assert_eq!(text(page), "One two\n\n- a\n- b\n  1. c\n\nx | y\n1 | 2\n");
}

#[test]
fn paragraphs_in_items_and_cells_stay_on_their_line() {
    let page = "<ul><li><p>a</p><p>more</p></li><li>b</li></ul><table><tr><td><p>1</p></td><td><p>2</p></table>";
    assert_eq!(text(page), "- a\n\nmore\n\n- b\n\n1 | 2\n");
}

#[test]
fn code_keeps_its_white_space() {
    assert_eq!(
        text("<p>See<pre>def f():\n    pass</pre>."),
        "See\n\n```\ndef f():\n    pass\n```\n\n.\n"
    );
}

#[test]
fn scripts_forms_navigation_and_hidden_text_are_left_out() {
    let page = "<nav>Menu</nav><script>alert(1)</script><style>p{}</style><form>Search</form>\
                <div class='sphinxsidebar'>Side</div><p hidden>secret</p>\
                <span style='display: none'>trick</span><p>Text</p><footer>(c)</footer>";
    assert_eq!(text(page), "Text\n");
}

#[test]
fn a_form_around_the_text_of_a_page_hides_none_of_it() {
    let field =
        "<label>Your name</label> <input value=x><select><option>Mr</select><button>Go</button>";
    let tea = "Steep green tea for two minutes, and black tea for four; then take the leaves out.";
    let page = format!("<form id=aspnetForm>{field}<h1>Tea</h1><p>{tea}</p></form>");
    assert_eq!(text(&page), format!("Your name\n\n# Tea\n\n{tea}\n"));
    let fields = format!("<p>{tea}</p><form><p>Newsletter</p>{field}</form>");
    assert_eq!(text(&fields), format!("{tea}\n"));
    let links = format!("<p>{tea}</p><form><p><a href=x>{tea}</a></p></form>");
    assert_eq!(text(&links), format!("{tea}\n"));
    let nested = format!("<form><div></form><form>{field}<p>{tea}</p></div></form>");
    assert!(text(&nested).contains(tea), "{}", text(&nested));
}

#[test]
fn the_main_part_of_a_page_is_its_text() {
    assert_eq!(text("<header>Site</header><main><p>Body</p></main><aside>Ads</aside>"), "Body\n");
    assert_eq!(text("<p>Site</p><div role=main><p>Body</p></div>"), "Body\n");
    assert_eq!(text("<main></main><p>All outside</p>"), "All outside\n");
    assert_eq!(text("<p>x</p><article>Body</article>"), "Body\n");
    assert_eq!(text("<article>One</article><article>Two</article>"), "One\n\nTwo\n");
}

#[test]
fn headings_and_terms_have_positions_and_anchors() {
    let page = "<title>T</title><section id=os><h1>os<a class=headerlink href='#os'>¶</a></h1>\
                <dl><dt id=os.getcwd>os.getcwd()<dd><p>The folder.</p></dl></section>";
    let page = html_text(page, 1000);
    assert_eq!(page.text, "# os\n\nos.getcwd()\n\nThe folder.\n");
    let [os, getcwd] = page.headings.as_slice() else { panic!("{:?}", page.headings) };
    assert_eq!((os.title.as_str(), os.anchor.as_deref(), os.start), ("os", Some("os"), 0));
    assert_eq!((getcwd.level, getcwd.anchor.as_deref(), getcwd.start), (7, Some("os.getcwd"), 6));
    assert_eq!(path(&page, 20), ["os", "os.getcwd()"]);
    assert_eq!(page.title.as_deref(), Some("T"));
}

#[test]
fn a_term_ends_with_what_it_stands_for() {
    let page = "<h1>os</h1><dl><dt id=a>a()<dd>One.<dl><dt id=a.b>b()<dd>Two.</dl>Still a.\
                <dt id=c>c()<dd>Three.</dl><p>After all.</p>";
    let page = html_text(page, 1000);
    let of = |quote: &str| {
        let byte = page.text.find(quote).unwrap();
        path(&page, page.text[..byte].chars().count())
    };
    assert_eq!(of("One."), ["os", "a()"]);
    assert_eq!(of("Two."), ["os", "a()", "b()"]);
    assert_eq!(of("Still a."), ["os", "a()"]);
    assert_eq!(of("Three."), ["os", "c()"]);
    assert_eq!(of("After all."), ["os"]);
}

#[test]
fn the_heading_of_a_remark_is_text() {
    let page = "<h1>Tea</h1><div class=note><h3>Note</h3><p>Hot.</p></div><aside><h2>Ads</h2></aside><p>More.</p>";
    let page = html_text(page, 1000);
    assert_eq!(page.text, "# Tea\n\nNote\n\nHot.\n\nAds\n\nMore.\n");
    assert_eq!(page.headings.len(), 1);
}

#[test]
fn positions_count_characters() {
    let page = html_text("<p>Größe 🦀</p><h2>Maße</h2><p>Länge</p>", 1000);
    let start = page.headings[0].start;
    assert_eq!(page.slice(CharRange { start, end: start + 7 }), "## Maße");
}

#[test]
fn links_are_known_by_their_ranges() {
    let page = html_text("<ul><li><a href=a>First</a><li><a href=b>Second</a></ul>", 1000);
    let linked: Vec<_> = page.links.iter().map(|link| page.slice(*link)).collect();
    assert_eq!(linked, ["First", "Second"]);
}

#[test]
fn a_text_beyond_the_limit_is_cut_and_said_to_be() {
    let page = html_text("<p>abcdef</p>", 3);
    assert_eq!((page.text.trim_end(), page.truncated), ("abc", true));
}

#[test]
fn a_page_nested_a_hundred_thousand_deep_still_has_its_text() {
    for tag in ["div", "b", "table><tr><td", "a href=x", "font size=1", "svg"] {
        let page = format!("<p>before{}inside", format!("<{tag}>").repeat(100_000));
        let page = text(&page);
        assert!(page.contains("before") && page.contains("inside"), "{tag}");
    }
}

#[test]
fn many_tags_that_are_never_closed_take_linear_time() {
    let page = "<p>x<li>y<td>z".repeat(10_000);
    assert!(text(&page).contains("xyz") || text(&page).contains('y'));
}

fn holds_its_promises(page: &DocumentText) {
    let length = page.text.chars().count();
    assert!(!page.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    for heading in &page.headings {
        assert!(heading.start <= length && !heading.title.is_empty());
        assert!(heading.end.is_none_or(|end| end >= heading.start));
    }
    for link in &page.links {
        assert!(link.start < link.end && link.end <= length, "{link:?} of {length}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(html in "(<[a-z/]{0,8}[ a-z='\"]{0,9}>|[a-z ]{0,5}|\\PC{0,3}){0,60}", limit in 0_usize..400) {
        holds_its_promises(&html_text(&html, limit));
    }

    #[test]
    fn the_titles_of_headings_stand_where_they_say(parts in proptest::collection::vec("[a-zä🦀]{1,6}", 1..20)) {
        let html: String = parts.iter().enumerate().map(|(i, part)| match i % 3 {
            0 => format!("<h2>{part}</h2>"),
            1 => format!("<dl><dt id=x>{part}</dl>"),
            _ => format!("<p>{part}"),
        }).collect();
        let page = html_text(&html, 10_000);
        for heading in &page.headings {
            let line = page.slice(CharRange { start: heading.start, end: usize::MAX }).lines().next().unwrap();
            prop_assert_eq!(line.trim_start_matches("## "), &heading.title);
        }
    }
}
