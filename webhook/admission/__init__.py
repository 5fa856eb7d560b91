"""Admission, without a server: the body of a call in, a verdict or a patch out. Pure, like all that it rests on."""

from webhook.admission.injection import mutate
from webhook.admission.verdict import Law, Mode, judge, judge_by, law
from webhook.admission.wire import decode, encode

__all__ = ["Law", "Mode", "decode", "encode", "judge", "judge_by", "law", "mutate"]
