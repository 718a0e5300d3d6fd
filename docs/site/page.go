package main

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// Page is a document.
type Page struct {
	Source   string    // path in the repository: docs/explanation/ppo.md
	File     string    // path in the site: docs/explanation/ppo.html
	Title    string    // its first heading
	About    string    // its first paragraph, cut to what a search engine shows
	Markdown []byte    // the document
	Body     string    // HTML
	Sections []Section // what the search looks through
	Links    []string  // paths of the repository that it shows or links to, without other pages
}

// Section is the text from one heading to the next.
type Section struct{ Heading, Anchor, Text string }

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(renderer.WithUnsafe()))

// parse makes the page of a document of a checkout.
func parse(checkout fs.FS, source string, document []byte) (Page, error) {
	p := Page{Source: source, File: fileOf(source), Title: source, Markdown: document}
	root := markdown.Parser().Parse(text.NewReader(document), parser.WithContext(
		parser.NewContext(parser.WithIDs(&anchors{seen: map[string]int{}}))))
	section := Section{}
	err := ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Heading:
			if len(p.Sections) == 0 && section.Text == "" {
				p.Title = textOf(n, document)
			}
			p.Sections = append(p.Sections, section)
			id, _ := n.AttributeString("id")
			section = Section{Heading: textOf(n, document), Anchor: string(id.([]byte))}
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph:
			if p.About == "" && n.Parent() == root {
				p.About = cut(strings.Join(strings.Fields(textOf(n, document)), " "))
			}
		case *ast.Link:
			n.Destination = []byte(p.link(checkout, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(p.link(checkout, string(n.Destination)))
		}
		if leaf := leafText(node, document); leaf != "" {
			section.Text += leaf + " "
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return p, fmt.Errorf("%s: %w", source, err)
	}
	p.Sections = append(p.Sections, section)[1:]
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, document, root); err != nil {
		return p, fmt.Errorf("%s: %w", source, err)
	}
	p.Body = imageTag.ReplaceAllStringFunc(body.String(), func(tag string) string {
		m := imageTag.FindStringSubmatch(tag)
		return m[1] + html.EscapeString(p.link(checkout, html.UnescapeString(m[2]))) + `"`
	})
	return p, nil
}

// aboutLength is about what search engines show of a description.
const aboutLength = 160

// cut returns the first words of a text, whose lines are joined.
func cut(text string) string {
	if len(text) <= aboutLength {
		return text
	}
	end := strings.LastIndexByte(text[:aboutLength], ' ')
	return text[:max(end, 0)] + " …"
}

// imageTag is an image that a document writes as HTML. Those of Markdown have an alt after the source.
var imageTag = regexp.MustCompile(`(<img src=")([^"]*)" width`)

// link turns a link of a document into one of the site, and notes the file that it needs.
func (p *Page) link(checkout fs.FS, to string) string {
	target, anchor, _ := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, ":") {
		return to
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	if strings.HasSuffix(target, ".md") {
		return fileOf(path.Clean(target)) + anchor
	}
	file := path.Join(path.Dir(p.Source), target)
	p.Links = append(p.Links, file)
	if info, err := fs.Stat(checkout, file); err == nil && info.IsDir() {
		return path.Join(target, "index.html") + anchor
	}
	return target + anchor
}

// fileOf returns the path in the site of a document. A README is the first page of its folder.
func fileOf(source string) string {
	folder, name := path.Split(source)
	if name == "README.md" {
		return folder + "index.html"
	}
	return folder + strings.TrimSuffix(name, ".md") + ".html"
}

// leafText returns the text of a node that has no children, or of a block of code.
func leafText(node ast.Node, document []byte) string {
	switch n := node.(type) {
	case *ast.Text:
		if n.SoftLineBreak() {
			return string(n.Value(document)) + " "
		}
		return string(n.Value(document))
	case *ast.String:
		return string(n.Value)
	case *ast.FencedCodeBlock:
		return string(n.Lines().Value(document))
	}
	return ""
}

// textOf returns the text in a node.
func textOf(node ast.Node, document []byte) string {
	all := leafText(node, document)
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		all += textOf(child, document)
	}
	return all
}

// anchors makes the anchors of headings as GitHub does, because documents link to those.
type anchors struct{ seen map[string]int }

var punctuation = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)

// Generate returns the anchor of a heading.
func (a *anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	words := punctuation.ReplaceAllString(strings.ToLower(string(heading)), "")
	anchor := strings.ReplaceAll(strings.TrimSpace(words), " ", "-")
	a.seen[anchor]++
	if n := a.seen[anchor]; n > 1 {
		anchor = fmt.Sprintf("%s-%d", anchor, n-1)
	}
	return []byte(anchor)
}

// Put notes an anchor that a document gives itself.
func (a *anchors) Put(value []byte) { a.seen[string(value)]++ }
