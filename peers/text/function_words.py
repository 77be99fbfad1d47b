"""Function words, which hold sentences together and do not tell a text's topic; folded, by language.

Articles, pronouns, prepositions, conjunctions, auxiliary verbs, and what questions begin with. In a query
that is a sentence they are left out of the score (`analysis`), and of several languages the one that has most
of them is the query's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_WORDS: Final = {
    "en": """
a about above after again against all am an and any are as at be because been before being below between
both but by can cannot could did do does doing don down during each few for from further had has have having
he her here hers herself him himself his how i if in into is it its itself just may me might more most must
my myself no nor not now of off on once only or other our ours ourselves out over own same shall she should
so some such than that the their theirs them themselves then there these they this those through to too
under until up upon very was we were what when where which while who whom whose why will with within without
would yet you your yours yourself yourselves also
""",
    "de": """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus
bei beim bin bis bist da damit dann das dass dasselbe dazu dein deine dem den denn der deren des dessen die
dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch
euer fur gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jene kann kein keine konnen konnte man mein
meine mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst
sich sie sind so solche soll sollte sondern uber um und uns unser unter vom von vor wann war waren warum was
wegen weil welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo wurde
wurden zu zum zur zwischen
""",
    "fr": """
a ai ainsi alors au aucun aussi autre aux avait avec avez avons c car ce cela celle celui ces cet cette
chaque comme comment d dans de depuis des donc dont du elle elles en encore entre est et etaient etait ete
etes etre eux fait il ils j je l la le les leur leurs lorsque lui m ma mais me meme mes moi mon n ne ni nos
notre nous on ont ou par pas pendant peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi
s sa sans se sera ses si son sont sous soit sur t ta te tes toi ton tous tout toute toutes tres tu un une
vers vos votre vous y
""",
    "es": """
a al algo ante antes aquel aquella asi aun aunque cada como con contra cual cuales cuando cuanto de del
desde donde durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estan estar
estas este esto estos fue fueron ha habia han hasta hay la las le les lo los mas me mi mis mucho muy ni no
nos nosotros o os otra otras otro otros para pero poco por porque puede pueden que quien se sea segun ser si
sido sin sobre son su sus tambien tan tanto te tiene tienen todo todos tu tus u un una unas uno unos y ya yo
""",
    "pt": """
a ao aos as ate com como da das de dela dele deles depois do dos e ela elas ele eles em entre era essa essas
esse esses esta estao estas este estes eu foi foram ha isso isto ja lhe mais mas me mesmo meu minha muito na
nao nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos pode podem por porque qual
quais quando que quem sao se seja sem ser seu seus so sobre sua suas tambem te tem tudo um uma umas uns voce
""",
    "it": """
a ad agli ai al alla alle allo anche c che chi ci come con contro cosa cui d da dagli dai dal dalla dalle
dallo de degli dei del della delle dello di dopo dove e ed era erano essere fra gli ha hanno ho i il in io l
la le lei li lo loro lui ma me mi mia mio ne negli nei nel nella nelle nello no noi non nostro o ogni per
perche piu puo quale quali quando quanto quella quelle quelli quello questa queste questi questo se senza si
sia sono su sua sue sugli sui sul sulla sulle sullo suo suoi tra tu tutti tutto un una uno vi voi
""",
    "nl": """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen
had hebben heb heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met
mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw
van veel voor waar waarom wanneer want waren was wat werd wezen wie wij wil worden wordt ze zelf zich zij
zijn zo zonder zou
""",
    "sv": """
alla allt att av blev bli blir da de dem den denna deras dess dessa det detta dig din du dar eller en er ett
fran for ha hade han hans har hennes hon honom hur har i icke in inte jag ju kan kunde man med mellan men
mig min mot mycket ni nar nagon nagot nagra och om oss pa sa samma sedan sig sin sina sitt skulle som till
under upp ut utan vad var vara varfor varit vem vi vid vilka vilken vilket ar an
""",
    "da": """
af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
eller en end er et for fra ham han hans har havde hende hendes her hos hun hvad hvem hvilken hvilket hvis
hvor hvordan hvorfor i ikke ind jeg jer kan kunne man mange med meget men mig min mod ned noget nogle nar og
ogsa om op os over pa sadan selv sig sin skal skulle som sa til ud under var ved vi vil ville vor vaere
vaeret
""",
    "no": """
alle at av ble bli blir da de deg dem den denne der deres det dette din disse du eller en enn er et etter
for fordi fra fram ha hadde han hans har hennes her hun hva hvem hvilken hvilket hvis hvor hvordan hvorfor i
ikke inn jeg kan kunne man mange med meg mellom men min mot mye nar noe noen na og ogsa om opp oss over pa
sa samme seg selv sin sine sitt skal skulle slik som til ut var ved vi vil ville vaere vaert
""",
    "ru": """
а без более больше бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его
ее ей ему если есть еще же за здесь и из или им их к как какая какие какой когда кто ли либо мне может можно
мы на над надо не него нее нет ни них но ну о об однако он она они оно от очень по под после потом потому
почему при про с свой себя со так также такой там то того тоже только том ты у уже хотя чего чем что чтобы
эта эти этого этой этом этот это я
""",
    "pl": """
a aby ale bardzo bez bo by byc byl byla bylo byly ci co czy dla do gdy gdzie i ich ile im inne ja jak jaki
jakie jako je jego jej jest jesli juz kiedy kto ktora ktore ktory lub ma miedzy mi mnie moze na nad nam nas
nie nim niz o od on ona one oni oraz po pod poniewaz przed przez przy sa sie sobie ta tak takie tam te tego
tej ten to tu tylko tym u w we wszystko z za ze
""",
    "zh": """
的 了 是 和 与 及 或 在 之 也 就 都 而 把 被 让 从 对 向 为 以 于 吗 呢 吧 啊 个 着 地 得
什么 怎么 怎样 如何 哪些 哪个 哪里 为什么 是否 一个 这个 有 我 你 他 她 它 我们
你们 他们 这 那 哪 谁 几 多少
""",
}

FUNCTION_WORDS_OF: Final = {language: frozenset(words.split()) for language, words in _WORDS.items()}

_WITH_CHINESE: Final = {
    language: words | FUNCTION_WORDS_OF["zh"] for language, words in FUNCTION_WORDS_OF.items()
}
_OF_ANY: Final = frozenset[str]().union(
    *[words for language, words in FUNCTION_WORDS_OF.items() if language != "zh"]
)

# More than a chance: `die` alone may be English.
_FOUND_MIN: Final = 2


def language_of_function_words(words: Iterable[str]) -> str:
    """Return the language that most function words of a text are of, of equal ones English, else the first.

    "" when they are fewer than two. Chinese, whose characters no other language has, is none.
    """
    distinct = _OF_ANY.intersection(words)
    if len(distinct) < _FOUND_MIN:  # as of nearly all queries
        return ""
    found = {
        language: len(distinct & of_language)
        for language, of_language in FUNCTION_WORDS_OF.items()
        if language != "zh"
    }
    best = max(found, key=found.__getitem__)
    return best if found[best] >= _FOUND_MIN else ""


def function_words_of(words: Iterable[str]) -> frozenset[str]:
    """Return the function words of the language that a query is in, English by default, and Chinese ones."""
    return _WITH_CHINESE[language_of_function_words(words) or "en"]
