from model import *
S=load()
evaluate(S,lambda sc:GP(names=("past","pcc","cond")).fit(sc["h"],sc["ordered"]))
evaluate(S,lambda sc:GP(names=("past","pcc","cond"),rhos=(0.,)).fit(sc["h"],sc["ordered"]),False)
evaluate(S,lambda sc:GP(names=("past","last","pcc","cond")).fit(sc["h"],sc["ordered"]),False)
