package main

import (
	"encoding/json"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// Every link of every page leads to a file of the site, and to an anchor that is there.
func TestLinksOfTheSite(t *testing.T) {
	s, err := Read(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, len(s.Pages), 40)
	folder := t.TempDir()
	require.NoError(t, s.Write(folder, ""))
	link := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	checked := 0
	for _, p := range s.Pages {
		text, err := os.ReadFile(filepath.Join(folder, p.File))
		require.NoError(t, err)
		shown := strings.ReplaceAll(string(text), `<link rel="alternate" type="text/markdown" href="`+
			strings.Repeat("../", strings.Count(p.File, "/"))+p.Source+`">`, "")
		require.NotContains(t, shown, `.md"`, "%s links to a document that is no page", p.File)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to, anchor, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			if strings.Contains(to, ":") {
				continue
			}
			file := path.Join(path.Dir(p.File), to)
			if to == "" {
				file = p.File
			}
			content, err := os.ReadFile(filepath.Join(folder, file))
			require.NoError(t, err, "%s links to %s", p.File, m[1])
			if anchor != "" {
				require.Contains(t, string(content), `id="`+anchor+`"`, "%s links to %s", p.File, m[1])
			}
			checked++
		}
	}
	require.Greater(t, checked, 2000)
}

// What search engines and assistants read: descriptions, addresses, documents as they are, and all of them as one text.
func TestForSearchEnginesAndAssistants(t *testing.T) {
	s, err := Read(os.DirFS("../.."))
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, s.Write(folder, "https://example.org/xlarun/"))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(text)
	}
	for _, p := range s.Groups[1].Pages { // how-to
		page := read(p.File)
		require.Contains(t, page, `<link rel="canonical" href="https://example.org/xlarun/`+p.File+`">`)
		require.Regexp(t, `<meta name="description" content="\S[^"]{20,}">`, page)
		require.LessOrEqual(t, len(p.About), aboutLength+len(" …"), p.Source)
		require.Contains(t, read("sitemap.xml"), "<loc>https://example.org/xlarun/"+p.File+"</loc>")
		require.Equal(t, read(p.Source), string(p.Markdown))
		require.Contains(t, read("llms-full.txt"), string(p.Markdown))
	}
	require.NotContains(t, read("llms-full.txt"), "<!-- docs/notes/")
	link := regexp.MustCompile(`\]\(([^)#]*)`)
	links := link.FindAllStringSubmatch(read("llms.txt"), -1)
	require.Greater(t, len(links), 20)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(folder, m[1]))
		require.NoError(t, err, "llms.txt links to %s", m[1])
	}
}

func TestPage(t *testing.T) {
	checkout := fstest.MapFS{"docs/code/a.go": {}, "docs/LICENSE": {}}
	for _, c := range []struct{ name, document, body string }{
		{"a page", "[x](b.md#one-two)", `<p><a href="b.html#one-two">x</a></p>`},
		{"a README", "[x](../README.md)", `<p><a href="../index.html">x</a></p>`},
		{"a folder", "[x](code)", `<p><a href="code/index.html">x</a></p>`},
		{"a file without an extension", "[x](LICENSE)", `<p><a href="LICENSE">x</a></p>`},
		{"another site", "[x](https://example.org/a.md)", `<p><a href="https://example.org/a.md">x</a></p>`},
		{"an anchor of this page", "[x](#a)", `<p><a href="#a">x</a></p>`},
		{"GitHub's anchors", "# A `b`, c–d: 1", `<h1 id="a-b-cd-1">A <code>b</code>, c–d: 1</h1>`},
		{"the same heading twice", "# A\n# A", "<h1 id=\"a\">A</h1>\n<h1 id=\"a-1\">A</h1>"},
		{"nothing", "", ""},
		{"a figure", "It takes <!-- fig a/b ours -->3 ms<!-- /fig --> *here*.",
			"<p>It takes <!-- fig a/b ours -->3 ms<!-- /fig --> <em>here</em>.</p>"},
		{"a table of figures", "<!-- figures a -->\n\n| a |\n| --- |\n| 1 |\n\n<!-- /figures -->",
			"<!-- figures a -->\n<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n" +
				"</tr>\n</tbody>\n</table>\n<!-- /figures -->"},
	} {
		p, err := parse(checkout, "docs/a.md", []byte(c.document))
		require.NoError(t, err, c.name)
		require.Equal(t, c.body, strings.TrimSpace(p.Body), c.name)
	}
	p, err := parse(checkout, "docs/a.md", []byte("# Title\n\nText with `code`.\n\n## Part\n\n```sh\nrun it\n```\n"))
	require.NoError(t, err)
	require.Equal(t, "Title", p.Title)
	require.Len(t, p.Sections, 2)
	require.Equal(t, Section{"Part", "part", "run it\n "}, p.Sections[1])
	require.Contains(t, p.Sections[0].Text, "code")
	p, err = parse(checkout, "docs/a.md", []byte("# Title\n\nIt takes <!-- fig a/b ours -->3 ms<!-- /fig --> here.\n"))
	require.NoError(t, err)
	require.Equal(t, "It takes  3 ms  here. ", p.Sections[0].Text, "the search does not see markers")

	_, err = Read(fstest.MapFS{})
	require.ErrorContains(t, err, "run it in the root of a checkout")
	_, err = Read(fstest.MapFS{"README.md": {Data: []byte("[x](missing.png)")}, "llms.txt": {}})
	require.ErrorContains(t, err, "README.md links to open missing.png")
}

// The search runs in a JavaScript interpreter, over the index of this repository's site.
func TestSearch(t *testing.T) {
	s, err := Read(os.DirFS("../.."))
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, s.Write(folder, ""))
	vm := goja.New()
	for _, name := range []string{"index.js", "search.js"} {
		script, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		_, err = vm.RunString(string(script))
		require.NoError(t, err, name)
	}
	find := func(query string) (files []string) {
		require.NoError(t, vm.Set("query", query))
		v, err := vm.RunString("JSON.stringify(find(query, sections).map((s) => s.file))")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(v.String()), &files))
		return files
	}
	require.True(t, slices.ContainsFunc(find("normalized OBSERVATIONS"), func(file string) bool {
		return file == "docs/how-to/runs.html#normalized-observations"
	}))
	require.Equal(t, "docs/tutorial/4-strategy.html#tutorial-4-a-strategy", find("tutorial strategy")[0])
	require.Empty(t, find("  "))
	require.Empty(t, find("no page has thesewordsatall"))
	require.NotNil(t, find("*(["), "no regular expression")
}
