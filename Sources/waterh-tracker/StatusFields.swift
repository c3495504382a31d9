import TrackerCore

/// What a status bar's line is made of: of the state of a day that is open here, or of what its service tells.
struct StatusFields: Decodable {
    struct Session: Decodable {
        var value: Double
        var waterDueText: String
        var drinks: Int
        var waters: Int
        var warningText: String?
        var isWarning: Bool
        var gauge: Double
    }

    var litresText: String
    var percent: Int
    var statusText: String
    var lastDrinkAge: String?
    var displayUrgency: Urgency
    var phase: String
    var waterline: Session?

    init(_ snapshot: TrackerSnapshot) {
        let pace = snapshot.pace
        (litresText, percent, statusText, lastDrinkAge) = (
            snapshot.litresText, pace.percent, pace.statusText, snapshot.lastDrinkAge
        )
        (displayUrgency, phase) = (pace.displayUrgency, snapshot.nextDrink.phase.rawValue)
        waterline = snapshot.waterline.map {
            Session(
                value: $0.value, waterDueText: $0.waterDueText, drinks: $0.drinks, waters: $0.waters,
                warningText: $0.warningText, isWarning: $0.isWarning,
                gauge: $0.gauge)
        }
    }
}
