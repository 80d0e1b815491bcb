"""Search a space of designs: declarative spaces, samplers, studies, Pareto fronts. `simcore` simulates each design."""
