package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Site is all pages, with the files that they link to.
type Site struct {
	Pages  []Page
	Groups []Group
	files  map[string][]byte // by their paths in the site
}

// Group is a part of the list of pages.
type Group struct {
	Title string
	Users bool // its pages are for users, and in llms-full.txt
	Pages []Page
}

// groups are the parts of the list, with patterns of the documents in each. A document is in the first that matches.
var groups = []struct {
	title    string
	users    bool
	patterns []string
}{
	{"Learn", true, []string{"README.md", "docs/tutorial/first-run.md", "docs/tutorial/*.md", "examples/README.md"}},
	{"How to", true, []string{"docs/how-to/*.md"}},
	{"Reference", true, []string{"docs/reference/*.md"}},
	{"Explanation", true, []string{"docs/explanation/*.md"}},
	{"The code", false, []string{"WORKSPACE.md"}},
	{"Measured", false, []string{"docs/notes/*.md"}},
}

// Read makes the pages of a checkout.
func Read(checkout fs.FS) (*Site, error) {
	s := &Site{files: map[string][]byte{}}
	var seen []string
	for _, g := range groups {
		group := Group{Title: g.title, Users: g.users}
		for _, pattern := range g.patterns {
			names, err := fs.Glob(checkout, pattern)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if slices.Contains(seen, name) {
					continue
				}
				seen = append(seen, name)
				document, err := fs.ReadFile(checkout, name)
				if err != nil {
					return nil, err
				}
				page, err := parse(checkout, name, document)
				if err != nil {
					return nil, err
				}
				group.Pages = append(group.Pages, page)
			}
		}
		s.Groups = append(s.Groups, group)
		s.Pages = append(s.Pages, group.Pages...)
	}
	if !slices.Contains(seen, "README.md") {
		return nil, errors.New("there is no README.md here: run it in the root of a checkout")
	}
	assistants, err := fs.ReadFile(checkout, llms)
	if err != nil {
		return nil, err
	}
	links, err := parse(checkout, llms, assistants)
	if err != nil {
		return nil, err
	}
	s.files[llms] = assistants
	for _, page := range append(slices.Clip(s.Pages), links) {
		for _, name := range page.Links {
			if err := s.add(checkout, name); err != nil {
				return nil, fmt.Errorf("%s links to %w", page.Source, err)
			}
		}
	}
	return s, nil
}

// add takes a file into the site. Of a folder it takes all files and a list of them.
func (s *Site) add(checkout fs.FS, name string) error {
	info, err := fs.Stat(checkout, name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		s.files[name], err = fs.ReadFile(checkout, name)
		return err
	}
	if _, err := fs.Stat(checkout, path.Join(name, "README.md")); err == nil {
		return nil // its page is the list
	}
	entries, err := fs.ReadDir(checkout, name)
	if err != nil {
		return err
	}
	list := &bytes.Buffer{}
	fmt.Fprintf(list, "# %s\n\n", name)
	for _, e := range entries {
		if !e.IsDir() {
			fmt.Fprintf(list, "- [%s](%s)\n", e.Name(), e.Name())
		}
	}
	page, err := parse(checkout, path.Join(name, "README.md"), list.Bytes())
	if err != nil {
		return err
	}
	for _, link := range page.Links {
		if err := s.add(checkout, link); err != nil {
			return err
		}
	}
	page.Sections, page.Markdown = nil, nil // names of files are no text
	if !slices.ContainsFunc(s.Pages, func(p Page) bool { return p.File == page.File }) {
		s.Pages = append(s.Pages, page)
	}
	return nil
}

//go:embed page.html style.css search.js
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "page.html"))

// entry is a section in the index of the search.
type entry struct {
	File    string `json:"file"`
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// Files for assistants, as llmstxt.org describes them: what a program needs to know with links, and all documents for
// users as one text.
const (
	llms     = "llms.txt"
	llmsFull = "llms-full.txt"
)

// documents returns the documents for users as one text.
func (s *Site) documents() []byte {
	var all bytes.Buffer
	for _, g := range s.Groups {
		if !g.Users {
			continue
		}
		for _, p := range g.Pages {
			fmt.Fprintf(&all, "<!-- %s -->\n\n%s\n", p.Source, p.Markdown)
		}
	}
	return all.Bytes()
}

// sitemap lists the addresses of all pages for search engines, as sitemaps.org describes it.
func (s *Site) sitemap(address string) ([]byte, error) {
	type location struct {
		Address string `xml:"loc"`
	}
	list := struct {
		XMLName xml.Name   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Pages   []location `xml:"url"`
	}{}
	for _, p := range s.Pages {
		list.Pages = append(list.Pages, location{address + "/" + p.File})
	}
	text, err := xml.MarshalIndent(list, "", " ")
	return append([]byte(xml.Header), text...), err
}

// Write writes the site into a folder. With the address that the site will have, it also has a sitemap, and its pages
// name their own addresses.
func (s *Site) Write(folder, address string) error {
	address = strings.TrimRight(address, "/")
	files := map[string][]byte{llmsFull: s.documents()}
	if address != "" {
		list, err := s.sitemap(address)
		if err != nil {
			return err
		}
		files["sitemap.xml"] = list
	}
	for name, content := range s.files {
		files[name] = content
	}
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		files[name] = content
	}
	index := []entry{}
	for _, p := range s.Pages {
		root := strings.Repeat("../", strings.Count(p.File, "/"))
		var page bytes.Buffer
		if err := pageTemplate.Execute(&page, map[string]any{"Page": p, "Body": template.HTML(p.Body), "Root": root,
			"Groups": s.Groups, "Address": address}); err != nil {
			return err
		}
		files[p.File] = page.Bytes()
		if p.Markdown != nil {
			files[p.Source] = p.Markdown
		}
		for _, section := range p.Sections {
			index = append(index, entry{p.File + "#" + section.Anchor, p.Title, section.Heading,
				strings.Join(strings.Fields(section.Text), " ")})
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	// A script and not a file of JSON: a page that was opened from the disk may not read other files.
	files["index.js"] = fmt.Appendf(nil, "const sections = %s;\n", text)
	for name, content := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
