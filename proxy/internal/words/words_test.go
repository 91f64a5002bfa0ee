package words

import "testing"

func TestOwnTextsAreKnownAgain(t *testing.T) {
	for _, own := range []string{Approved, Denied, Answered, InDoubt} {
		if !IsOwn(own) || IsOwn(own+" ") || IsOwn(own[1:]) {
			t.Errorf("%q is not known again, or another text is", own)
		}
	}
	if IsOwn("") || IsOwn("approved") {
		t.Error("a result of somebody else counts as one of Holdpoint's")
	}
	if id, ok := QuestionOf(QuestionID("int~a")); !ok || id != "int~a" {
		t.Errorf("%q %v", id, ok)
	}
	if _, ok := QuestionOf("int~a"); ok {
		t.Error("the id of another message names a question")
	}
}
