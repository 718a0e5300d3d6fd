package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies"
)

// authority signs certificates for 127.0.0.1, of servers and of clients.
func authority(t *testing.T) (pool *x509.CertPool, sign func() tls.Certificate) {
	t.Helper()
	number := int64(0)
	make := func(parent *x509.Certificate, by *ecdsa.PrivateKey) tls.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		number++
		c := &x509.Certificate{SerialNumber: big.NewInt(number), NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{
				net.IPv4(127, 0, 0, 1)}}
		if parent == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	root := make(nil, nil)
	pool = x509.NewCertPool()
	pool.AddCert(root.Leaf)
	return pool, func() tls.Certificate { return make(root.Leaf, root.PrivateKey.(*ecdsa.PrivateKey)) }
}

func client(t *testing.T, trusts *x509.CertPool, own ...tls.Certificate) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusts, Certificates: own}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Jar: jar}
}

// TestPageByTLS: with a certificate and a token the page is served by https only, to clients that trust the certificate
// and have the token. The cookie is sent to no other site.
func TestPageByTLS(t *testing.T) {
	pool, sign := authority(t)
	l := studies.Listen{Address: "127.0.0.1:0", Token: "sesame", TLS: &tls.Config{Certificates: []tls.Certificate{
		sign()}}}
	p := shown(t, l, 3, nil)
	require.True(t, strings.HasPrefix(p.URL(), "https://127.0.0.1:"), p.URL())
	browser := client(t, pool)
	status, text, h := get(t, browser, p.URL())
	require.Equal(t, 401, status)
	require.Contains(t, text, "Token <input")
	require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
	for bearer, want := range map[string]int{"Bearer wrong": 401, "Bearer sesame": 200} {
		status, _, _ = get(t, browser, p.URL()+"data", "Authorization", bearer)
		require.Equal(t, want, status, bearer)
	}
	answer, err := (&http.Client{Transport: browser.Transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}).PostForm(p.URL()+"token", url.Values{"token": {"sesame"}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	cookies := answer.Cookies()
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].Secure && cookies[0].HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)
	require.NotContains(t, cookies[0].Value, "sesame")
	at, err := url.Parse(p.URL())
	require.NoError(t, err)
	browser.Jar.SetCookies(at, cookies)
	status, text, _ = get(t, browser, p.URL()+"data")
	require.Equal(t, 200, status)
	require.Contains(t, text, `"study":"a study"`)

	_, err = client(t, x509.NewCertPool()).Get(p.URL()) //nolint:bodyclose // there is none
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError), "who does not trust the certificate sends no token")
	plain := strings.Replace(p.URL(), "https:", "http:", 1)
	status, text, _ = get(t, http.DefaultClient, plain+"data", "Authorization", "Bearer sesame")
	require.Equal(t, 400, status, text)
	require.NotContains(t, text, "a study")
}

// TestPageByCertificates: with an authority of clients, who has one of its certificates needs no token, and nobody else
// comes in.
func TestPageByCertificates(t *testing.T) {
	pool, sign := authority(t)
	_, foreign := authority(t)
	l := studies.Listen{Address: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{sign()},
		ClientCAs: pool}}
	p := shown(t, l, 3, nil)
	status, _, _ := get(t, client(t, pool, sign()), p.URL()+"data")
	require.Equal(t, 200, status)
	for who, c := range map[string]*http.Client{"none": client(t, pool), "another authority's": client(t, pool,
		foreign())} {
		answer, err := c.Get(p.URL() + "data")
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
		require.Error(t, err, who)
	}
}
