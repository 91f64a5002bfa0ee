package strands

import "testing"

func TestNames(t *testing.T) {
	var l Names
	if err := l.UnmarshalText([]byte("myapp-*=confirmation; a/b=x")); err != nil || l.of("myapp-1") != "confirmation" || l.of("a/b") != "x" || l.of("b") != "" || l.String() != "myapp-*=confirmation;a/b=x" {
		t.Errorf("%v %v", l, err)
	}
	var s Schemas
	if err := s.UnmarshalText([]byte(`*={"type":"string","enum":["a;b"]}`)); err != nil || s.of("x") != `{"type":"string","enum":["a;b"]}` {
		t.Errorf("%v %v", s, err)
	}
	for _, text := range []string{"*=", "=x", "[=x", "x", "*=string", "*=[]", `*={"a"`} {
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
