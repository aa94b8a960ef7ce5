import { LightningElement, api, wire } from "lwc";
import getCompletion from "@salesforce/apex/ProfileCompletionService.getCompletion";

export default class ProfileHeader extends LightningElement {
    @api recordId;

    completion;
    errorMessage;

    @wire(getCompletion, { contactId: "$recordId" })
    wiredCompletion({ data, error }) {
        this.completion = data;
        this.errorMessage = error ? (error.body?.message ?? "The profile could not be loaded.") : undefined;
    }

    get percentLabel() {
        return `${this.completion.percent}% complete`;
    }

    get hasMissingFields() {
        return this.completion.missingFields.length > 0;
    }
}
