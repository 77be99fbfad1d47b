"""Directories in the style of each server, written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

NGINX = """<html>\r
<head><title>Index of /pub/linux/</title></head>\r
<body bgcolor="white">\r
<h1>Index of /pub/linux/</h1><hr><pre><a href="../">../</a>\r
<a href="old/">old/</a>                                               02-Jan-2024 10:30                   -\r
<a href="linux-6.1.tar.xz">linux-6.1.tar.xz</a>                                   11-Dec-2022 22:20           134728520\r
<a href="Release%20Notes%20&amp;%20more.html">Release Notes &amp; more.html</a>      29-Feb-2024 23:59                5120\r
<a href="a-very-long-name-of-a-file-that-nginx-cuts-in-its-column.iso">a-very-long-name-of-a-file-that-nginx-cuts-in-i..&gt;</a> 01-May-2023 00:00          4700000000\r
</pre><hr></body>\r
</html>\r
"""  # noqa: E501

APACHE_PRE = """<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html>
 <head>
  <title>Index of /pub/linux</title>
 </head>
 <body>
<h1>Index of /pub/linux</h1>
<pre><img src="/icons/blank.gif" alt="Icon "> <a href="?C=N;O=D">Name</a>                    <a href="?C=M;O=A">Last modified</a>      <a href="?C=S;O=A">Size</a>  <a href="?C=D;O=A">Description</a><hr><img src="/icons/back.gif" alt="[PARENTDIR]"> <a href="/pub/">Parent Directory</a>                             -
<img src="/icons/folder.gif" alt="[DIR]"> <a href="old/">old/</a>                    2024-01-02 10:30    -
<img src="/icons/compressed.gif" alt="[   ]"> <a href="linux-6.1.tar.xz">linux-6.1.tar.xz</a>        2022-12-11 22:20  128M  The kernel
<img src="/icons/unknown.gif" alt="[   ]"> <a href="a-very-long-name-of-a-file.iso">a-very-long-name-of-a-..&gt;</a> 2023-05-01 00:00  4.4G
<img src="/icons/text.gif" alt="[TXT]"> <a href="README">README</a>                  2021-03-04 05:06  812
<hr></pre>
<address>Apache/2.4.62 (Debian) Server at files.test Port 80</address>
</body></html>
"""  # noqa: E501

APACHE_TABLE = """<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
<html>
 <head>
  <title>Index of /pub/linux</title>
 </head>
 <body>
<h1>Index of /pub/linux</h1>
  <table id="indexlist">
   <tr class="indexhead"><th><img src="/icons/blank.gif" alt="[ICO]"></th><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th><th><a href="?C=S;O=A">Size</a></th></tr>
   <tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/pub/">Parent Directory</a></td><td>&nbsp;</td><td align="right">  - </td></tr>
   <tr><td valign="top"><img src="/icons/folder.gif" alt="[DIR]"></td><td><a href="old/">old/</a></td><td align="right">2024-01-02 10:30  </td><td align="right">  - </td></tr>
   <tr><td valign="top"><a href="linux-6.1.tar.xz"><img src="/icons/compressed.gif" alt="[   ]"></a></td><td><a href="linux-6.1.tar.xz">linux-6.1.tar.xz</a></td><td align="right">2022-12-11 22:20  </td><td align="right">128M</td></tr>
   <tr><td valign="top"><img src="/icons/text.gif" alt="[TXT]"></td><td><a href="notes.txt">notes.txt</a></td><td align="right">2021-03-04 05:06  </td><td align="right">1.2K</td></tr>
  </table>
</body></html>
"""  # noqa: E501

APACHE_PLAIN = """<html><head><title>Index of /pub/linux</title></head><body>
<h1>Index of /pub/linux</h1>
<ul><li><a href="/pub/"> Parent Directory</a></li>
<li><a href="old/"> old/</a></li>
<li><a href="linux-6.1.tar.xz"> linux-6.1.tar.xz</a></li>
<li><a href="notes.txt"> notes.txt</a></li>
</ul></body></html>
"""

LIGHTTPD = """<!DOCTYPE html>
<html><head><title>Index of /pub/linux/</title></head>
<body><h2>Index of /pub/linux/</h2>
<div class="list"><table summary="Directory Listing" cellpadding="0" cellspacing="0">
<thead><tr><th class="n">Name</th><th class="m">Last Modified</th><th class="s">Size</th><th class="t">Type</th></tr></thead>
<tbody>
<tr class="d"><td class="n"><a href="../">..</a>/</td><td class="m">&nbsp;</td><td class="s">- &nbsp;</td><td class="t">Directory</td></tr>
<tr class="d"><td class="n"><a href="old/">old</a>/</td><td class="m">2024-Jan-02 10:30:01</td><td class="s">- &nbsp;</td><td class="t">Directory</td></tr>
<tr><td class="n"><a href="linux-6.1.tar.xz">linux-6.1.tar.xz</a></td><td class="m">2022-Dec-11 22:20:59</td><td class="s">128.5M</td><td class="t">application/x-xz</td></tr>
</tbody></table></div>
<div class="foot">lighttpd/1.4.76</div></body></html>
"""  # noqa: E501

PYTHON = """<!DOCTYPE HTML>
<html lang="en"><head><meta charset="utf-8">
<title>Directory listing for /pub/linux/</title>
</head><body>
<h1>Directory listing for /pub/linux/</h1>
<hr>
<ul>
<li><a href="old/">old/</a></li>
<li><a href="linux-6.1.tar.xz">linux-6.1.tar.xz@</a></li>
<li><a href="notes%20%26%20more.txt">notes &amp; more.txt</a></li>
</ul>
<hr></body></html>
"""

NGINX_JSON = (
    '[\r\n{ "name":"old", "type":"directory", "mtime":"Tue, 02 Jan 2024 10:30:00 GMT" },\r\n'
    '{ "name":"数据 2024.zip", "type":"file", "mtime":"Wed, 03 Jan 2024 01:02:03 GMT", "size":1234 }\r\n]'
)

_SVG = '<svg class="icon" width="24" height="24">' + '<path d="M0 0h24v24H0z"></path>' * 20 + "</svg>"


def _caddy_row(href: str, name: str, size: str, date: str) -> str:
    return f"""<tr class="file">
\t\t\t\t\t\t<td></td>
\t\t\t\t\t\t<td>
\t\t\t\t\t\t\t<a href="{href}">
\t\t\t\t\t\t\t\t{_SVG}
\t\t\t\t\t\t\t\t<span class="name">{name}</span>
\t\t\t\t\t\t\t</a>
\t\t\t\t\t\t</td>
\t\t\t\t\t\t{size}
\t\t\t\t\t\t<td class="timestamp hideable">
\t\t\t\t\t\t\t<time datetime="{date}">at some time</time>
\t\t\t\t\t\t</td>
\t\t\t\t\t</tr>"""


def _caddy_size(n_bytes: int) -> str:
    cell = f'<td class="size" data-size="{n_bytes}">\n\t\t\t\t\t\t\t<div class="sizebar">'
    bar = '\n\t\t\t\t\t\t\t\t<div class="sizebar-bar"></div>'
    return f'{cell}{bar}<div class="sizebar-text">\n\t\t\t\t\t\t\t\tsome MiB\n</div></div></td>'


CADDY = f"""<!DOCTYPE html>
<html><head><title>linux</title></head>
<body><header><h1><a href="../../">files.test</a><a href="../">pub</a>/<a href="">linux</a>/</h1></header>
<a href="javascript:queryParam('layout', '')" id="layout-list">List</a>
<a href="javascript:queryParam('layout', 'grid')" id="layout-grid">Grid</a>
<table aria-describedby="summary"><thead><tr><th><a href="?sort=name&order=desc">Name</a></th></tr></thead>
<tr><td></td><td><a href="..">{_SVG}<span class="go-up">Up</span></a></td></tr>
{_caddy_row("./old/", "old/", "<td>&mdash;</td>", "2024-01-02T10:30:01Z")}
{_caddy_row("./linux%206.1.tar.xz", "linux 6.1.tar.xz", _caddy_size(134_728_520), "2022-12-11T22:20:59Z")}
</table><footer>Served with <a rel="noopener noreferrer" href="https://caddyserver.com">{_SVG}</a></footer>
</body></html>
"""

IIS = """<html><head><title>files.test - /pub/linux/</title></head><body><H1>files.test - /pub/linux/</H1><hr>

<pre><A HREF="/pub/">[To Parent Directory]</A><br><br>  1/2/2024 10:30 AM        &lt;dir&gt; <A HREF="/pub/linux/old/">old</A><br> 12/11/2022  3:20 PM    134728520 <A HREF="/pub/linux/linux%206.1.tar.xz">linux 6.1.tar.xz</A><br> 2023/5/31 12:05        812 <A HREF="/pub/linux/README">README</A><br></pre><hr></body></html>
"""  # noqa: E501

H5AI = """<!DOCTYPE html><html class="no-js" lang="en"><head><meta charset="utf-8">
<title>index - powered by h5ai v0.30.0 (https://larsjung.de/h5ai/)</title></head><body id="root" class="index">
<div id="fallback-hints"><span>Works best in <a href="http://browsehappy.com">modern browsers</a>!</span>
<span class="backlink"><a href="https://larsjung.de/h5ai/" title="h5ai">powered by h5ai</a></span></div>
<div id="fallback"><table><tr><th class="fb-i"></th><th class="fb-n"><span>Name</span></th></tr>
<tr><td class="fb-i"></td><td class="fb-n"><a href="..">Parent Directory</a></td><td class="fb-d"></td></tr>
<tr><td class="fb-i"></td><td class="fb-n"><a href="/pub/linux/old/">old</a></td><td class="fb-d">2024-01-02 10:30</td><td class="fb-s"></td></tr>
<tr><td class="fb-i"></td><td class="fb-n"><a href="/pub/linux/linux%206.1.tar.xz">linux 6.1.tar.xz</a></td><td class="fb-d">2022-12-11 22:20</td><td class="fb-s">134728 KB</td></tr>
</table></div></body></html>
"""  # noqa: E501

SERVE = """<!DOCTYPE html><html lang="en"><head><title>Files within files/pub/linux/</title></head><body><main>
<header><h1><i>Index of&nbsp;</i> <a href="/">files/</a> <a href="/pub/">pub/</a> <a href="/pub/linux/">linux/</a>
</h1></header><ul id="files">
<li><a href="/pub/" title="pub" class="folder ">..</a></li>
<li><a href="/pub/linux/old/" title="old/" class="folder ">old/</a></li>
<li><a href="/pub/linux/linux%206.1.tar.xz" title="linux 6.1.tar.xz" class="file xz">linux 6.1.tar.xz</a></li>
</ul></main></body></html>
"""  # noqa: E501

LS_LR = """.:
total 12
drwxr-xr-x 2 ftp ftp 4096 Jan  2 10:30 linux
-rw-r--r-- 1 ftp ftp  812 Mar  4  2021 README

./linux:
total 131573
-rw-r--r-- 1 ftp ftp 134728520 2022-12-11 22:20:01.000000000 +0000 linux-6.1.tar.xz
lrwxrwxrwx 1 ftp ftp 16 Jan  1  2023 latest.tar.xz -> linux-6.1.tar.xz
-rw-r--r-- 1 ftp ftp 99 Jan  2 10:30 今年的.pdf
"""


def nginx_page(links: Iterable[tuple[str, str]], path: str = "/pub/linux/") -> str:
    """A directory as nginx lists it, with these links: address and text."""
    rows = "".join(
        f'<a href="{escape(address)}">{escape(text)}</a>      01-Jan-2024 10:00      {n}\r\n'
        for n, (address, text) in enumerate(links)
    )
    return (
        f"<html>\r\n<head><title>Index of {path}</title></head>\r\n<body>\r\n<h1>Index of {path}</h1>"
        f'<hr><pre><a href="../">../</a>\r\n{rows}</pre><hr></body>\r\n</html>\r\n'
    )
