"""Buy and tune: the cluster is bought once, the software is tuned for every job that runs on it.

    candidate cluster ─▶ for each workload: its best software (an inner search) ─▶ one outcome ─▶ front over clusters

`study.decide` names the sections that are decided once; every other hole is tuned per workload and candidate. A study
sees a candidate as one trial, so the journal, resuming, workers and samplers are those of any study.
"""
