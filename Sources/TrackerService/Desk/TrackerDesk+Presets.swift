import Store
import TrackerCore

extension TrackerDesk {
    /// All presets.
    package func presets() throws -> PresetList { PresetList(presets: try store.presets().map(PresetReport.init)) }

    /// Adds a preset. Without an estimate it follows from size and strength, else it is 1.0; without a type it is a
    /// cocktail.
    package func addPreset(_ name: String, _ values: PresetValues) throws -> PresetReport {
        try change {
            PresetReport(
                try store.addPreset(
                    name: name, drinkType: values.type ?? .cocktail, sizeOz: values.sizeOz, abv: values.abv,
                    estimate: values.estimate ?? PresetValues.estimate(values.sizeOz, values.abv) ?? 1, context))
        }
    }

    /// Changes a preset; entries logged with it stay as they are. A new size or strength brings a new estimate, where
    /// none is given.
    package func editPreset(_ name: String, _ values: PresetValues) throws -> PresetReport {
        try change {
            var changed = try preset(name)
            changed.name = values.name ?? changed.name
            changed.drinkType = values.type ?? changed.drinkType
            changed.sizeOz = values.sizeOz ?? (values.without.contains(.size) ? nil : changed.sizeOz)
            changed.abv = values.abv ?? (values.without.contains(.strength) ? nil : changed.abv)
            let computed =
                values.sizeOz == nil && values.abv == nil ? nil : PresetValues.estimate(changed.sizeOz, changed.abv)
            if let estimate = values.estimate ?? computed {
                guard estimate.isFinite else { throw WaterlineSession.Refusal.estimate }
                changed.standardDrinkEstimate = StandardDrinks.rounded(estimate)
            }
            try store.savePreset(changed, context)
            return PresetReport(changed)
        }
    }

    /// Deletes a preset; it is not made again.
    package func deletePreset(_ name: String) throws -> PresetReport {
        try change {
            let found = try preset(name)
            try store.deletePreset(found.id, context)
            return PresetReport(found)
        }
    }

    /// A preset by its name or id.
    func preset(_ name: String) throws -> DrinkPreset {
        guard let preset = try store.preset(named: name) else {
            throw Refusal(
                "noSuchPreset", "There is no preset \"\(name)\".", category: .notFound, values: ["given": name])
        }
        return preset
    }
}
