// Starts Swagger UI on the API's own description; a token typed here stays in this page.
const place = document.getElementById("api");
window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.schema,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none", // more than 126 operations opened at once are not all drawn
  persistAuthorization: false,
  validatorUrl: null,
});
